/** The access of a key, an invite or a member: the form's state, its fields, and its summary in tables. */
import { texts } from '../../texts/settings.tsx'
import type { Choice } from '../../ui/choices.tsx'

/** The state of a form that edits which providers may be used. */
export interface AccessDraft {
  all: boolean
  /** Base paths by the id of their provider, at least one in each. */
  chosen: Readonly<Record<string, readonly string[]>>
}

export const fullAccess: AccessDraft = { all: true, chosen: {} }

export function draftOf(access: {
  all: boolean
  restrictions: readonly { basePath: string; provider: { id: string } }[]
}): AccessDraft {
  const chosen: Record<string, string[]> = {}
  for (const { provider, basePath } of access.restrictions) {
    const paths = chosen[provider.id] ?? []
    chosen[provider.id] = [...paths, basePath]
  }
  return { all: access.all, chosen }
}

export function toAccessInput({ all, chosen }: AccessDraft) {
  if (all) return { all: true }
  const restrictions = Object.entries(chosen).flatMap(([providerId, paths]) =>
    paths.map(basePath => ({ providerId, basePath })),
  )
  return { restrictions }
}

export const isNothingChosen = ({ all, chosen }: AccessDraft) => !all && Object.keys(chosen).length === 0

export type Scope = 'read' | 'write' | 'admin'

export const scopeChoices: readonly Choice<Scope>[] = (['read', 'write', 'admin'] as const).map(value => ({
  value,
  ...texts.scopes[value],
}))

export type Role = 'OWNER' | 'ADMIN' | 'EDITOR' | 'VIEWER' | 'NONE'

/** Returns the roles that a member may give. Only owners may give the role of an owner. */
export function roleChoices(ownRole: Role): readonly Choice<Role>[] {
  const roles: readonly Role[] = ['NONE', 'VIEWER', 'EDITOR', 'ADMIN', 'OWNER']
  return roles
    .filter(role => role !== 'OWNER' || ownRole === 'OWNER')
    .map(role => ({ value: role, title: texts.roles[role], help: texts.roleHelp[role] }))
}

/** Lists which providers may be used. */
export function AccessSummary({
  access,
}: {
  access: { all: boolean; restrictions: readonly { basePath: string; provider: { id: string; name: string } }[] }
}) {
  if (access.all) return texts.allStorages
  if (access.restrictions.length === 0) return texts.noConnectedStorage
  return (
    <ul>
      {access.restrictions.map(({ provider, basePath }) => (
        <li key={`${provider.id}${basePath}`}>
          <bdi>{provider.name}</bdi>
          {basePath !== '/' && <span className="mono"> {basePath}</span>}
        </li>
      ))}
    </ul>
  )
}
