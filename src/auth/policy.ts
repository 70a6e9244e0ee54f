/**
 * This folder decides without I/O: credentials, parsed paths and rows about members enter, and a `Viewer`, a `Grant` or an error
 * leaves.
 *
 * This file decides who may do what, and no other one does. It takes parsed values and decides before any lookup, so a response
 * never reveals whether an entry outside the viewer's access exists. The layers below require the `Grant` that it returns:
 * without one, no code can access a provider.
 */
import { AppError } from '../errors.ts'
import { accessTo, type BasePaths, basePathsIn, containsAccess, includesPath, type ProviderAccess } from './access.ts'
import { childOf, formatPath, isWithin, parsePath, root, type StoragePath } from './path.ts'
import { includesRole, includesScope, type Role, type Scope } from './scopes.ts'
import {
  type CredentialKind,
  type Given,
  type Member,
  memberPermissions,
  type Permissions,
  requireViewer,
  type Shared,
  scopeOf,
  type Viewer,
} from './viewer.ts'

const decided = Symbol('decided')

/** Proof that a credential may act with `scope` on a path of a provider and on everything below it. */
export interface Grant<S extends Scope = Scope> {
  readonly [decided]: true
  readonly scope: S
  readonly workspaceId: string
  readonly providerId: string
  readonly path: StoragePath
  /** The operation adds the entry, and replaces nothing. */
  readonly isNew?: boolean | undefined
  readonly viewer: Viewer
}

/** The rights that an operation needs at one location. `isNew`: it adds an entry there, and replaces nothing. */
interface LocationNeed<S extends Scope = Scope> {
  scope: S
  providerId: string
  path: StoragePath
  isNew?: boolean | undefined
}

/**
 * Requires a scope for an operation without a location. A share link has its scope at the shared paths only.
 * @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED
 */
export function requireScope(viewer: Viewer | null, scope: Scope): Viewer {
  const present = requireScopeAnywhere(viewer, scope)
  if (present.shared) throw onlyThere(scope)
  return present
}

/** Requires a scope at some locations at least; `grant` decides which. @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED */
export function requireScopeAnywhere(viewer: Viewer | null, scope: Scope): Viewer {
  const present = requireComplete(viewer)
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
  { scope, providerId, path, isNew }: LocationNeed<S>,
): Grant<S> {
  const need = { scope, providerId, path, isNew }
  const present = requireScopeAnywhere(viewer, need.scope)
  if (present.shared) requireShared(present.shared, need)
  const bases = basePathsIn(present.access, need.providerId)
  if (bases === null) throw new AppError('PROVIDER_NOT_ALLOWED')
  if (!includesPath(present.access, need.providerId, need.path)) {
    if (present.shared) throw new AppError('OUTSIDE_BASE_PATH')
    throw new AppError('OUTSIDE_BASE_PATH', `This credential has access only to ${listPaths(bases)}.`)
  }
  return { [decided]: true, ...need, workspaceId: present.member.workspaceId, viewer: present }
}

/**
 * Returns a grant for reading at a path at or below that of an earlier grant, without deciding again; null if the earlier one does not
 * cover it: it is for another path or another viewer, or it only adds entries.
 */
export function grantReadBelow(earlier: Grant, viewer: Viewer | null, path: StoragePath): Grant<'read'> | null {
  if (earlier.viewer !== viewer || earlier.isNew || !isWithin(path, earlier.path)) return null
  return { ...earlier, scope: 'read', path }
}

/** Returns whether a location is a grant, whose path is parsed, and not text from a client. */
export function isGrant(location: object): location is Grant {
  return decided in location
}

/** The number of base paths that an error names. */
const maxNamed = 3

function listPaths(paths: BasePaths): string {
  const named = paths.slice(0, maxNamed).map(formatPath)
  if (paths.length > maxNamed) named.push(`${paths.length - maxNamed} more`)
  const last = named.pop() ?? ''
  return named.length === 0 ? last : `${named.join(', ')} and ${last}`
}

/** Returns the path at which the access of the viewer begins, at or above the path of the grant. */
export function topOf({ viewer, providerId, path }: Grant): StoragePath {
  const tops = [...(viewer.shared?.paths ?? []), ...(basePathsIn(viewer.access, providerId) ?? [])]
  // If two top folders contain the path, one contains the other.
  return tops.reduce((lowest, top) => (isWithin(path, top) && isWithin(top, lowest) ? top : lowest), root)
}

/** Requires that a share link includes a location. A drop link only adds entries, below the shared folder. */
function requireShared({ kind, providerId, paths }: Shared, need: LocationNeed): void {
  const isDrop = kind === 'DROP'
  if (isDrop && !need.isNew) throw onlyThere(need.scope)
  if (need.providerId !== providerId) throw new AppError('PROVIDER_NOT_ALLOWED')
  if (!paths.some(path => isWithin(need.path, path) && !(isDrop && need.path === path))) {
    throw new AppError('OUTSIDE_BASE_PATH', 'This share link does not include the path.')
  }
}

/** Requires that the creator of a share still has, at a shared path, the rights that its link gives. @throws SHARE_ENDED */
export function requireLive({ shared, scope, access }: Viewer): void {
  if (!shared) return
  const mayMake = includesScope(scope, scopeOf(shared.kind))
  if (mayMake && shared.paths.some(path => includesPath(access, shared.providerId, path))) return
  throw new AppError('SHARE_ENDED')
}

/**
 * Requires the session of a recipient to open a share that has recipients. Others do not learn whether it still exists.
 * @throws SESSION_REQUIRED, SECOND_FACTOR_REQUIRED, SHARE_ENDED
 */
export function requireRecipient({ member: creator, shared }: Viewer, session: Viewer | null): void {
  if (!shared?.recipients) return
  if (!session)
    throw new AppError('SESSION_REQUIRED', 'This is shared with members of a workspace: sign in to open it.')
  const { member } = requireSession(session)
  const { workspaceId, userId, groups } = member
  const isIncluded = shared.recipients.some(({ kind, id }) =>
    kind === 'USER' ? id === userId : groups.some(group => group.id === id),
  )
  if (workspaceId === creator.workspaceId && (isIncluded || userId === creator.userId)) return
  throw new AppError('SHARE_ENDED', 'This is not shared with your account: ask the person who sent you the link.')
}

function onlyThere(scope: Scope): AppError {
  const message = 'A share link permits nothing but its own purpose: sign in, or use an API key.'
  return new AppError('SCOPE_REQUIRED', message, { facts: { requiredScope: scope } })
}

/** The grants for the base paths of a viewer in one provider, in their order. */
export type BaseGrants<S extends Scope = Scope> = readonly [Grant<S>, ...Grant<S>[]]

/** Grants reading from the viewer's base paths in a provider. @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
export function grantBasePaths(viewer: Viewer | null, providerId: string): BaseGrants<'read'> {
  return grantBases(viewer, 'read', providerId)
}

/** Grants the entries in the trash that were deleted at or below the viewer's base paths in a provider. @throws as `grantBasePaths` */
export function grantTrash(viewer: Viewer | null, providerId: string): BaseGrants<'write'> {
  return grantBases(viewer, 'write', providerId)
}

/** Grants the base paths of a viewer in a provider. @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
export function grantBases<S extends Scope>(viewer: Viewer | null, scope: S, providerId: string): BaseGrants<S> {
  const present = requireScope(viewer, scope)
  const bases = basePathsIn(present.access, providerId)
  if (bases === null) throw new AppError('PROVIDER_NOT_ALLOWED')
  const [first, ...others] = bases
  const grantBase = (path: StoragePath) => grant(present, { scope, providerId, path })
  return [grantBase(first), ...others.map(grantBase)]
}

/**
 * Returns the folders that lead from a path above some base paths of the viewer down to these, or null for any other path.
 * The holder of a credential knows its base paths, so the names on the way reveal nothing.
 * @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED
 */
export function wayDown(viewer: Viewer | null, providerId: string, path: StoragePath): StoragePath[] | null {
  const below = grantBasePaths(viewer, providerId)
    .map(granted => granted.path)
    .filter(base => base !== path && isWithin(base, path))
  if (below.length === 0) return null
  const names = below.map(base => base.slice(path === root ? 0 : path.length + 1).split('/', 1)[0] ?? '')
  return [...new Set(names)].map(name => childOf(path, name))
}

/** Something that is kept for a member, and the credential that created it. */
interface Owned {
  workspaceId: string
  userId: string
  credentialKind: CredentialKind
  credentialId: string
}

/** Returns whether the viewer is an administrator with access to all providers, including future ones. */
export function isUnrestricted({ scope, access }: Viewer): boolean {
  return includesScope(scope, 'admin') && access.all
}

/**
 * Returns whether a credential created something, or is a session of the member for whom it is kept. Only these learn its
 * secrets, so no other key of the member gets a secret that outlives the key.
 */
export function isOwn({ kind, credentialId, member }: Viewer, owned: Owned): boolean {
  if (owned.workspaceId !== member.workspaceId || owned.userId !== member.userId) return false
  return kind === 'SESSION' || (kind === owned.credentialKind && credentialId === owned.credentialId)
}

/**
 * Returns whether a viewer sees, changes and ends what a credential created: it is their own, or they are an administrator without
 * restrictions. They also need access to all of its locations.
 */
export function owns(
  viewer: Viewer,
  owned: Owned,
  locations: readonly { providerId: string; path: string }[],
): boolean {
  const { access, member } = viewer
  const isTheirs = isOwn(viewer, owned) || (owned.workspaceId === member.workspaceId && isUnrestricted(viewer))
  return isTheirs && locations.every(({ providerId, path }) => includesPath(access, providerId, parsePath(path)))
}

/**
 * Requires an administrator without restrictions. Everything that concerns the whole workspace needs one: its settings, its people,
 * their invites and keys, new providers, and webhooks for all events.
 * @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED
 */
export function requireWorkspaceAdmin(viewer: Viewer | null): Viewer {
  const present = requireScope(viewer, 'admin')
  if (!isUnrestricted(present)) {
    throw new AppError(
      'PROVIDER_NOT_ALLOWED',
      'This concerns the whole workspace and requires access to all providers without a base path.',
    )
  }
  return present
}

/** Requires an owner of the workspace, without restrictions. @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
export function requireOwner(viewer: Viewer | null): Viewer {
  const present = requireWorkspaceAdmin(viewer)
  if (present.member.role === 'OWNER') return present
  throw new AppError('SCOPE_REQUIRED', 'This requires an owner of the workspace.', {
    facts: { requiredScope: 'admin' },
  })
}

/**
 * Requires the session of an owner to decide how people sign in: whoever runs an issuer can sign in as those who have linked an account
 * there, owners among them. An API key cannot decide it, because a way to sign in outlives the key.
 * @throws CREDENTIAL_REQUIRED, SESSION_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH, CONFIRMATION_REQUIRED
 */
export function requireSignInOwner(viewer: Viewer | null): Viewer {
  const present = requireWorkspaceAdmin(requireSession(viewer))
  requireRecent(present)
  requireMayAssign(present, { role: 'OWNER' })
  return present
}

/** Permission to read the audit log. Without access to all providers, it covers only events whose locations are all accessible. */
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

/** Permission to find entries by their names in some folders of a workspace. */
export interface SearchGrant {
  readonly [decided]: true
  readonly viewer: Viewer
  readonly workspaceId: string
  /** The folders to search in. */
  readonly access: ProviderAccess
  /** Whether the request names the folders. */
  readonly isNamed: boolean
}

/**
 * Grants searching in some folders, for which there are grants, or in everything that the viewer may access.
 * @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED
 */
export function grantSearch(viewer: Viewer | null, within: readonly Grant[]): SearchGrant {
  const present = requireScope(viewer, 'read')
  const folders = within.map(({ providerId, path }) => [providerId, path] as const)
  const isNamed = folders.length > 0
  const access = isNamed ? accessTo(folders) : present.access
  return { [decided]: true, viewer: present, workspaceId: present.member.workspaceId, access, isNamed }
}

/** Requires a credential that has the second factor which its workspace requires. @throws CREDENTIAL_REQUIRED, SECOND_FACTOR_REQUIRED */
function requireComplete(viewer: Viewer | null): Viewer {
  const present = requireViewer(viewer)
  if (present.lacksSecondFactor) {
    const message = 'This workspace requires a second factor: add one to your account, or confirm who you are with one.'
    throw new AppError('SECOND_FACTOR_REQUIRED', message)
  }
  return present
}

/** @throws CREDENTIAL_REQUIRED, SESSION_REQUIRED, SECOND_FACTOR_REQUIRED */
export function requireSession(viewer: Viewer | null): Viewer {
  return requireComplete(requireAnySession(viewer))
}

/**
 * Requires a session, also one that lacks a second factor, for what a member does to get one.
 * @throws CREDENTIAL_REQUIRED, SESSION_REQUIRED
 */
export function requireAnySession(viewer: Viewer | null): Viewer {
  const present = requireViewer(viewer)
  if (present.kind !== 'SESSION') {
    throw new AppError(
      'SESSION_REQUIRED',
      'This requires a session: sign in with the login mutation and use its token.',
    )
  }
  return present
}

/** Milliseconds for which a member who has proved who they are can make sensitive changes. */
export const recentTime = 10 * 60 * 1000

/**
 * Requires, for a sensitive change, that the member has proved who they are in the session within the last ten minutes: others may
 * have found the session. Keys belong to programs, and the operator's commands to nobody's session.
 * @throws CREDENTIAL_REQUIRED, CONFIRMATION_REQUIRED
 */
export function requireRecent(viewer: Viewer | null): void {
  const { kind, outlivesSession, verifiedAt } = requireViewer(viewer)
  if (kind !== 'SESSION' || outlivesSession) return
  if (!verifiedAt || Date.now() - verifiedAt.getTime() > recentTime) throw new AppError('CONFIRMATION_REQUIRED')
}

/** Requires the credential of a person, and returns its kind. @throws SESSION_REQUIRED */
export function requireAccount({ kind }: Viewer): 'SESSION' | 'API_KEY' {
  if (kind === 'SHARE') throw new AppError('SESSION_REQUIRED', 'A share link cannot create anything of this kind.')
  return kind
}

/** Requires a session, or an unrestricted admin key, which can create, list and revoke keys. @throws SESSION_REQUIRED */
export function requireKeyManager(viewer: Viewer | null): Viewer {
  const present = requireComplete(viewer)
  if (present.kind !== 'SESSION' && !isUnrestricted(present)) {
    throw new AppError('SESSION_REQUIRED', 'Managing keys requires a session, or an admin key without restrictions.')
  }
  return present
}

/** Requires that the viewer has at least the access that it grants. @throws EXCEEDS_OWN_REACH */
export function requireCovers(viewer: Viewer, permissions: Permissions): void {
  requireNone(permissionsExcess(viewer, permissions))
}

/** Requires that a key has no more rights than the service account that it is for. @throws EXCEEDS_OWN_REACH */
export function requireWithin(account: Member, permissions: Permissions): void {
  const { scope, access } = memberPermissions(account)
  if (permissions.scope !== null && !includesScope(scope, permissions.scope)) {
    requireNone(`The scope "${permissions.scope}" exceeds the role of the service account, ${account.role}.`)
  }
  if (!containsAccess(access, permissions.access))
    requireNone('The provider access exceeds that of the service account.')
}

/** Requires that a viewer has lost no access since an earlier decision. @throws EXCEEDS_OWN_REACH */
export function requireUndiminished(before: Viewer, now: Viewer): void {
  requireNone(roleExcess(now, before.member.role))
  requireCovers(now, before)
}

/** Requires that the viewer may assign a role, with any access. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, EXCEEDS_OWN_REACH */
export function requireMayAssign(viewer: Viewer, { role }: Pick<Given, 'role'>): void {
  requireNone(roleExcess(requireWorkspaceAdmin(viewer), role))
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
