import type { Choice } from '../../ui/choices.tsx'

/** The state of a form that edits which providers may be used. */
export interface AccessDraft {
  all: boolean
  /** Base paths by the id of their provider. */
  chosen: Readonly<Record<string, string>>
}

export const fullAccess: AccessDraft = { all: true, chosen: {} }

export function draftOf(access: {
  all: boolean
  restrictions: readonly { basePath: string; provider: { id: string } }[]
}): AccessDraft {
  const chosen = access.restrictions.map(({ provider, basePath }) => [provider.id, basePath] as const)
  return { all: access.all, chosen: Object.fromEntries(chosen) }
}

export function toAccessInput({ all, chosen }: AccessDraft) {
  if (all) return { all: true }
  return { restrictions: Object.entries(chosen).map(([providerId, basePath]) => ({ providerId, basePath })) }
}

export const isNothingChosen = ({ all, chosen }: AccessDraft) => !all && Object.keys(chosen).length === 0

export type Scope = 'read' | 'write' | 'admin'

export const scopeChoices: readonly Choice<Scope>[] = [
  { value: 'read', title: 'Read', help: 'Browse and download files, and list storages. Changes nothing.' },
  { value: 'write', title: 'Write', help: 'Also upload, move, copy, rename and delete files, and create folders.' },
  { value: 'admin', title: 'Admin', help: 'Also manage storages, members and the workspace.' },
]

export type Role = 'OWNER' | 'ADMIN' | 'EDITOR' | 'VIEWER' | 'NONE'

export const roleTitles: Readonly<Record<Role, string>> = {
  OWNER: 'Owner',
  ADMIN: 'Admin',
  EDITOR: 'Editor',
  VIEWER: 'Viewer',
  NONE: 'No access',
}

const roleHelp: Readonly<Record<Role, string>> = {
  NONE: 'Can sign in, but sees only their own profile.',
  VIEWER: 'Browses and downloads files.',
  EDITOR: 'Also uploads, changes and deletes files.',
  ADMIN: 'Also manages storages, members and the workspace.',
  OWNER: 'Also manages other owners.',
}

/** Returns the roles that a member may give. Only owners may give the role of an owner. */
export function roleChoices(ownRole: Role): readonly Choice<Role>[] {
  const roles: readonly Role[] = ['NONE', 'VIEWER', 'EDITOR', 'ADMIN', 'OWNER']
  return roles
    .filter(role => role !== 'OWNER' || ownRole === 'OWNER')
    .map(role => ({ value: role, title: roleTitles[role], help: roleHelp[role] }))
}
