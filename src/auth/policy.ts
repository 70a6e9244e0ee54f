/**
 * Decides who may do what. Only this file does. It takes parsed values and decides before any lookup, so a response never
 * reveals whether an entry outside the viewer's access exists. The layers below require the `Grant` that it returns:
 * without one, no code can access a provider.
 */
import { AppError } from '../errors.ts'
import { basePathIn, containsAccess, type ProviderAccess } from './access.ts'
import { childOf, formatPath, isWithin, root, type StoragePath } from './path.ts'
import { includesRole, includesScope, type Role, type Scope } from './scopes.ts'
import { type Member, memberPermissions, type Permissions, requireViewer, type Viewer } from './viewer.ts'

const decided = Symbol('decided')

/** Proof that a credential may act with `scope` on a path of a provider and on everything below it. */
export interface Grant<S extends Scope = Scope> {
  readonly [decided]: true
  readonly scope: S
  readonly workspaceId: string
  readonly providerId: string
  readonly path: StoragePath
  readonly viewer: Viewer
}

/** @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED */
export function requireScope(viewer: Viewer | null, scope: Scope): Viewer {
  const present = requireViewer(viewer)
  if (!includesScope(present.scope, scope)) {
    throw new AppError('SCOPE_REQUIRED', `This requires the scope "${scope}"; ${describeScope(present)}.`, {
      facts: { requiredScope: scope },
    })
  }
  return present
}

/** @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH */
export function grant<S extends Scope>(
  viewer: Viewer | null,
  need: { scope: S; providerId: string; path: StoragePath },
): Grant<S> {
  const present = requireScope(viewer, need.scope)
  const base = basePathIn(present.access, need.providerId)
  if (base === null) throw new AppError('PROVIDER_NOT_ALLOWED')
  if (!isWithin(need.path, base)) {
    throw new AppError('OUTSIDE_BASE_PATH', `This credential has access only to ${formatPath(base)}.`)
  }
  return { [decided]: true, ...need, workspaceId: present.member.workspaceId, viewer: present }
}

/** Grants reading from the viewer's topmost path in a provider. @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
export function grantBasePath(viewer: Viewer | null, providerId: string): Grant<'read'> {
  return grantTop(viewer, 'read', providerId)
}

/** Grants the entries in the trash that were deleted at or below the viewer's topmost path in a provider. @throws as `grantBasePath` */
export function grantTrash(viewer: Viewer | null, providerId: string): Grant<'write'> {
  return grantTop(viewer, 'write', providerId)
}

function grantTop<S extends Scope>(viewer: Viewer | null, scope: S, providerId: string): Grant<S> {
  const present = requireScope(viewer, scope)
  const base = basePathIn(present.access, providerId)
  if (base === null) throw new AppError('PROVIDER_NOT_ALLOWED')
  return grant(present, { scope, providerId, path: base })
}

/**
 * Returns the folder that leads from a path above the viewer's base path down to it, or null for any other path. Whoever has
 * the credential knows its base path, so the names on the way reveal nothing.
 * @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED
 */
export function wayDown(viewer: Viewer | null, providerId: string, path: StoragePath): StoragePath | null {
  const base = grantBasePath(viewer, providerId).path
  if (base === path || !isWithin(base, path)) return null
  const [name = ''] = base.slice(path === root ? 0 : path.length + 1).split('/', 1)
  return childOf(path, name)
}

/** Requires access to all providers, including future ones. @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
export function requireEveryProvider(viewer: Viewer | null, scope: Scope): Viewer {
  const present = requireScope(viewer, scope)
  if (!present.access.all) {
    throw new AppError(
      'PROVIDER_NOT_ALLOWED',
      'This requires access to all providers, and this credential has access to some only.',
    )
  }
  return present
}

/** Permission to read the audit log. Without access to all providers, it covers only events at accessible locations. */
export interface AuditGrant {
  readonly [decided]: true
  readonly workspaceId: string
  readonly access: ProviderAccess
}

/** @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED */
export function grantAudit(viewer: Viewer | null): AuditGrant {
  const { access, member } = requireScope(viewer, 'admin')
  return { [decided]: true, workspaceId: member.workspaceId, access }
}

/** @throws CREDENTIAL_REQUIRED, SESSION_REQUIRED */
export function requireSession(viewer: Viewer | null): Viewer {
  const present = requireViewer(viewer)
  if (present.kind !== 'SESSION') {
    throw new AppError(
      'SESSION_REQUIRED',
      'This requires a session: sign in with the login mutation and use its token.',
    )
  }
  return present
}

/** Requires a session, or an unrestricted admin key, which can create, list and revoke keys. @throws SESSION_REQUIRED */
export function requireKeyManager(viewer: Viewer | null): Viewer {
  const present = requireViewer(viewer)
  if (present.kind === 'API_KEY' && !(present.scope === 'admin' && present.access.all)) {
    throw new AppError(
      'SESSION_REQUIRED',
      'Managing keys and invites requires a session, or an admin key without restrictions.',
    )
  }
  return present
}

/** Requires that the viewer has at least the access that it grants. @throws EXCEEDS_OWN_REACH */
export function requireCovers(viewer: Viewer, permissions: Permissions): void {
  requireNone(permissionsExcess(viewer, permissions))
}

/** Requires that a viewer has lost no access since an earlier decision. @throws EXCEEDS_OWN_REACH */
export function requireUndiminished(before: Viewer, now: Viewer): void {
  requireNone(roleExcess(now, before.member.role))
  requireCovers(now, before)
}

/** Requires that the viewer may assign this role and access. @throws SCOPE_REQUIRED, EXCEEDS_OWN_REACH */
export function requireMayAssign(viewer: Viewer, assignment: Pick<Member, 'role' | 'access'>): void {
  requireScope(viewer, 'admin')
  requireNone(assignmentExcess(viewer, assignment))
}

/** Returns whether `requireMayAssign` would pass. */
export function mayAssign(viewer: Viewer, assignment: Pick<Member, 'role' | 'access'>): boolean {
  return includesScope(viewer.scope, 'admin') && assignmentExcess(viewer, assignment) === null
}

/** Describes how an assignment exceeds the viewer; null if it does not. */
function assignmentExcess(viewer: Viewer, assignment: Pick<Member, 'role' | 'access'>): string | null {
  return roleExcess(viewer, assignment.role) ?? permissionsExcess(viewer, memberPermissions(assignment))
}

function roleExcess({ member }: Viewer, role: Role): string | null {
  return includesRole(member.role, role) ? null : `The role ${role} is above your own, ${member.role}.`
}

function permissionsExcess(viewer: Viewer, permissions: Permissions): string | null {
  if (permissions.scope === null) return null
  if (!includesScope(viewer.scope, permissions.scope)) {
    return `The scope "${permissions.scope}" exceeds your own: ${describeScope(viewer)}.`
  }
  return containsAccess(viewer.access, permissions.access) ? null : 'The provider access exceeds your own.'
}

function requireNone(excess: string | null): void {
  if (excess !== null) throw new AppError('EXCEEDS_OWN_REACH', excess)
}

function describeScope(viewer: Viewer): string {
  const has = viewer.kind === 'API_KEY' ? 'this key has' : 'you have'
  return viewer.scope === null ? `${has} no scope: ask an administrator for a role` : `${has} "${viewer.scope}"`
}
