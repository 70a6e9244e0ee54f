import { AppError } from '../errors.ts'
import { intersectAccess, noProviders, type ProviderAccess, uniteAccess } from './access.ts'
import type { StoragePath } from './path.ts'
import { highestScope, lowerScope, type Role, roleScope, type Scope, strongestRole } from './scopes.ts'

/** A role, and the providers on which it can be used. */
export interface Given {
  role: Role
  access: ProviderAccess
}

/** A group of a member. */
export interface MemberGroup extends Given {
  id: string
  name: string
}

/** A person, or a program with a service account. `role` and `access` are those of the member and all of their groups. */
export interface Member extends Given {
  userId: string
  workspaceId: string
  /** For a service account, an address at which nobody gets mail. */
  email: string
  name: string | null
  /** The tag of the language that they have chosen; null for that of their browser. */
  language: string | null
  /** Whether the member gets an email when a comment mentions them. */
  getsMentions: boolean
  /** The role and access of the member alone. */
  own: Given
  groups: readonly MemberGroup[]
  isService: boolean
  createdAt: Date
  /** Since when the credentials of the member are refused; null for a member who is active. */
  deactivatedAt: Date | null
}

/** Adds the roles and the access of groups to those of a member. The role NONE takes its access with it. */
export function combine(own: Given, groups: readonly Given[]): Given {
  const [first, ...others] = [own, ...groups].filter(({ role }) => role !== 'NONE')
  if (!first) return own
  if (others.length === 0) return first
  const role = strongestRole(
    first.role,
    others.map(other => other.role),
  )
  return { role, access: uniteAccess([first, ...others].map(({ access }) => access)) }
}

/** Milliseconds for which a check of a credential stays valid. */
export const freshness = 1000

/** The access of a member or a credential. */
export interface Permissions {
  /** The highest scope; null is none. */
  scope: Scope | null
  access: ProviderAccess
}

/** A connection of a client, compared by identity. */
export interface ClientConnection {
  /** Whether the client has disconnected. */
  readonly destroyed: boolean
}

/** The source of a request. */
export interface Origin {
  /** The client's IP address, as reported by a trusted proxy if there is one. */
  address: string
  requestId: string
  /** Undefined for an origin that was stored. */
  connection?: ClientConnection | undefined
  /** The name that the client gives itself, of any length; undefined if it gives none. */
  userAgent?: string | undefined
}

/** The origin of actions of this server itself. */
export const ownOrigin: Origin = { address: '', requestId: '' }

/** The version of a provider at one moment. It changes whenever the provider has to be opened again. */
export interface ProviderVersion {
  id: string
  version: number
}

/** A provider as it was at one moment. */
export interface SeenProvider extends ProviderVersion {
  slug: string
}

/** The name of a provider in a request: its id, or its slug in the addresses of WebDAV and S3. */
export type ProviderName = { id: string } | { slug: string }

export type CredentialKind = 'SESSION' | 'API_KEY' | 'SHARE'
/** VIEW reads what is shared. DROP adds files to the shared folder, and neither reads nor replaces anything there. */
export type ShareKind = 'VIEW' | 'DROP'

/** A person or a group of the workspace. */
export interface ShareRecipient {
  kind: 'USER' | 'GROUP'
  id: string
  name: string
  /** Null for a group. */
  email: string | null
}

/** The files and folders that a share link gives access to, within the access of the person who made it. */
export interface Shared {
  kind: ShareKind
  providerId: string
  /** Each of them with everything below it. */
  paths: readonly StoragePath[]
  /** The only people who can open the share, and groups of such people; null if everybody can who has the link. */
  recipients: readonly ShareRecipient[] | null
}

/** The identity behind a request: a valid credential, its owner, and the access of both combined. */
export interface Viewer extends Permissions {
  kind: CredentialKind
  /** The id of the session, the API key or the share. */
  credentialId: string
  /** True for a job: its viewer stays valid after the session has ended. */
  outlivesSession: boolean
  /** The first characters of an API key; null for a session. */
  displayPrefix: string | null
  /** An application has connected with OAuth, and the API key is its connection. */
  isConnection?: boolean
  /** The owner of the credential; for a share, the person who made it. */
  member: Member
  /** The limits of a share link; null for the other kinds of credentials. */
  shared: Shared | null
  /** The session with which a recipient has opened the share. */
  openedBy?: { sessionId: string; userId: string }
  expiresAt: Date | null
  /** When the access token of a connection expires. Subscriptions end then; a transfer that has begun goes on. */
  tokenExpiresAt?: Date
  /** When the member last proved who they are in the session; null if that is unknown, and for other credentials. */
  verifiedAt: Date | null
  /** The workspace requires a second factor of the member, and the session has none: it has no rights until it gets one. */
  lacksSecondFactor: boolean
  /** The time of the last check of the credential, in milliseconds of `performance.now()`. */
  confirmedAt: number
  /** The provider that the request names. The last check of the credential has looked it up, whether it exists or not. */
  namedProvider?: ProviderName | null
  /** The named provider at the time of the last check, if it exists in the workspace of the member; for a share, its provider. */
  seenProvider?: SeenProvider | null
  origin: Origin
}

export function memberPermissions(member: Given & Pick<Member, 'deactivatedAt'>): Permissions {
  const scope = member.deactivatedAt ? null : roleScope(member.role)
  return scope === null ? { scope, access: noProviders } : { scope, access: member.access }
}

/** Returns the provider as the last check of the credential saw it, no longer ago than that check stays valid. */
export function recentlySeen({ seenProvider, confirmedAt }: Viewer, providerId: string): SeenProvider | null {
  const isRecent = performance.now() - confirmedAt < freshness
  return isRecent && seenProvider?.id === providerId ? seenProvider : null
}

/**
 * Returns a viewer that acts as the member, whether they are signed in or not.
 * @param credentialId the id of the session to record as the actor's credential
 */
export function memberViewer(member: Member, credentialId: string, origin: Origin): Viewer {
  return {
    kind: 'SESSION',
    credentialId,
    outlivesSession: true,
    displayPrefix: null,
    shared: null,
    member,
    expiresAt: null,
    verifiedAt: null,
    lacksSecondFactor: false,
    confirmedAt: performance.now(),
    origin,
    ...memberPermissions(member),
  }
}

/** Limits a key's access to that of its owner, who may lose access later. */
export function keyPermissions(member: Member, key: { scopes: readonly Scope[]; access: ProviderAccess }): Permissions {
  const owner = memberPermissions(member)
  return {
    scope: lowerScope(owner.scope, highestScope(key.scopes)),
    access: intersectAccess(owner.access, key.access),
  }
}

const scopeOfShare = { VIEW: 'read', DROP: 'write' } as const satisfies Record<ShareKind, Scope>

/** Returns the scope that the creator of a share needs, and that its link has. */
export function scopeOf(kind: ShareKind): Scope {
  return scopeOfShare[kind]
}

/** Limits the scope of a share link to that of its creator today. `shared` limits its paths. */
export function sharePermissions(creator: Permissions, { kind }: Shared): Permissions {
  return { scope: lowerScope(creator.scope, scopeOf(kind)), access: creator.access }
}

/** The owners of what a viewer's requests occupy. */
export interface SlotOwners {
  credential: string
  /** The member with all of their sessions, API keys and share links. */
  member: string
  /** All share links of the member together: their recipients leave a part of the limit of the member free. */
  links?: string
}

export function slotOwners({ kind, credentialId, member: { userId } }: Viewer): SlotOwners {
  return { credential: credentialId, member: userId, ...(kind === 'SHARE' && { links: userId }) }
}

/** Requires any valid credential. @throws CREDENTIAL_REQUIRED */
export function requireViewer(viewer: Viewer | null): Viewer {
  if (!viewer) {
    throw new AppError(
      'CREDENTIAL_REQUIRED',
      'Send "Authorization: Bearer <session token or API key>" with the request.',
    )
  }
  return viewer
}
