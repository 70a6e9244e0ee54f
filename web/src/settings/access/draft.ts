import type { Choice } from '../../ui/choices.tsx'

/** Which providers may be used, while somebody edits it. */
export interface AccessDraft {
  all: boolean
  /** Base paths by the id of their provider. */
  chosen: Readonly<Record<string, string>>
}

export const everything: AccessDraft = { all: true, chosen: {} }

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

export const nothingChosen = ({ all, chosen }: AccessDraft) => !all && Object.keys(chosen).length === 0

export type Scope = 'read' | 'write' | 'admin'
export const scopes: readonly Scope[] = ['read', 'write', 'admin']

export const scopeChoices: readonly Choice<Scope>[] = [
  { value: 'read', title: 'Read', help: 'List folders, browse and download files, list providers. Changes nothing.' },
  { value: 'write', title: 'Write', help: 'Adds: upload, delete, move, rename and copy files, and make folders.' },
  { value: 'admin', title: 'Admin', help: 'Adds: workspace settings, members and providers. Full access.' },
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
  NONE: 'Can sign in, and sees nothing but the own profile.',
  VIEWER: 'Browses and downloads.',
  EDITOR: 'Also uploads, changes and deletes files.',
  ADMIN: 'Also manages providers, members and the workspace.',
  OWNER: 'As an admin, and can make other owners.',
}

/** Only owners make owners. */
export function roleChoices(own: Role): readonly Choice<Role>[] {
  const roles: readonly Role[] = ['NONE', 'VIEWER', 'EDITOR', 'ADMIN', 'OWNER']
  return roles
    .filter(role => role !== 'OWNER' || own === 'OWNER')
    .map(role => ({ value: role, title: roleTitles[role], help: roleHelp[role] }))
}
