import { AppError } from '../errors.ts'
import { intersectAccess, noProviders, type ProviderAccess } from './access.ts'
import { highestScope, lowerScope, type Role, roleScope, type Scope } from './scopes.ts'

export interface Member {
  userId: string
  workspaceId: string
  email: string
  name: string | null
  role: Role
  access: ProviderAccess
  createdAt: Date
}

/** How far somebody or something gets. */
export interface Reach {
  /** The highest; null is none. */
  scope: Scope | null
  access: ProviderAccess
}

/** From where a request came. */
export interface Origin {
  /** The client's IP address; where a trusted proxy stands in front, the one that it tells. */
  address: string
  requestId: string
}

/** What a request acts as: a credential that was found good, its owner, and what both together reach. */
export interface Viewer extends Reach {
  kind: 'SESSION' | 'API_KEY'
  /** Of the session or the API key. */
  credentialId: string
  /** The first characters of an API key; null for a session. */
  displayPrefix: string | null
  member: Member
  expiresAt: Date | null
  /** When it was found good: milliseconds of `performance.now()`. */
  confirmedAt: number
  origin: Origin
}

export function memberReach(member: Pick<Member, 'role' | 'access'>): Reach {
  const scope = roleScope(member.role)
  return scope === null ? { scope, access: noProviders } : { scope, access: member.access }
}

/** A member as they would act with a session of their own. */
export function memberViewer(member: Member, origin: Origin): Viewer {
  const { userId: credentialId } = member
  return {
    kind: 'SESSION',
    credentialId,
    displayPrefix: null,
    member,
    expiresAt: null,
    confirmedAt: performance.now(),
    origin,
    ...memberReach(member),
  }
}

/** A key never exceeds its owner, now or later. */
export function keyReach(member: Member, key: { scopes: readonly Scope[]; access: ProviderAccess }): Reach {
  const owner = memberReach(member)
  return {
    scope: lowerScope(owner.scope, highestScope(key.scopes)),
    access: intersectAccess(owner.access, key.access),
  }
}

/** For what needs nothing but to be somebody. @throws CREDENTIAL_REQUIRED */
export function requireViewer(viewer: Viewer | null): Viewer {
  if (!viewer) {
    throw new AppError(
      'CREDENTIAL_REQUIRED',
      'Send "Authorization: Bearer <session token or API key>" with the request.',
    )
  }
  return viewer
}
