/** Whether the holder of a credential may still use it: accounts can be deactivated, and credentials end. */
import { noProviders } from '../../auth/access.ts'
import { hasSecondFactor } from '../../auth/factors.ts'
import { type Member, memberPermissions, type Origin, type ProviderName, type Viewer } from '../../auth/viewer.ts'
import type { OwnedApiKey } from '../../db/api-keys.ts'
import type { Session } from '../../db/sessions.ts'
import { AppError } from '../../errors.ts'

/** @throws INVALID_CREDENTIAL for an unknown public key, KEY_EXPIRED, ACCOUNT_DEACTIVATED */
export function requireUsable(found: OwnedApiKey | null): OwnedApiKey {
  if (!found)
    throw new AppError(
      'INVALID_CREDENTIAL',
      'This public key is unknown: register it with an API key, and give the email of its account as the user name.',
    )
  requireActive(found.owner)
  requireUnexpired({ ...found.key, kind: 'API_KEY' })
  return found
}

/** @throws ACCOUNT_DEACTIVATED */
export function requireActive({ deactivatedAt }: Pick<Member, 'deactivatedAt'>): void {
  if (deactivatedAt) throw new AppError('ACCOUNT_DEACTIVATED')
}

/** @throws KEY_EXPIRED, SESSION_ENDED, SHARE_ENDED */
export function requireUnexpired(
  { kind, expiresAt, isConnection }: Pick<Viewer, 'kind' | 'expiresAt' | 'isConnection'>,
  now = new Date(),
): void {
  if (!expiresAt || expiresAt > now) return
  if (kind === 'SESSION') throw sessionEnded()
  if (kind === 'SHARE') throw new AppError('SHARE_ENDED', 'This share link has expired: ask for a new one.')
  throw new AppError('KEY_EXPIRED', `This ${nameOf(isConnection)} has expired: ${advice(isConnection)}.`)
}

export function keyRevoked(isConnection: boolean): AppError {
  return new AppError('KEY_REVOKED', `This ${nameOf(isConnection)} was revoked: ${advice(isConnection)}.`)
}

function nameOf(isConnection = false): string {
  return isConnection ? 'connection of an application' : 'API key'
}

function advice(isConnection = false): string {
  return isConnection ? 'connect the application again' : 'create a new one'
}

/** @throws SESSION_ENDED, ACCOUNT_DEACTIVATED */
export function sessionViewer(session: Session | null, origin: Origin, namedProvider: ProviderName | null): Viewer {
  if (!session || session.revokedAt) throw sessionEnded()
  requireActive(session.member)
  const lacksSecondFactor = session.needsSecondFactor && !hasSecondFactor(session.factors)
  const viewer: Viewer = {
    kind: 'SESSION',
    credentialId: session.id,
    outlivesSession: false,
    displayPrefix: null,
    shared: null,
    member: session.member,
    expiresAt: session.expiresAt,
    verifiedAt: session.verifiedAt,
    lacksSecondFactor,
    confirmedAt: performance.now(),
    namedProvider,
    seenProvider: session.seenProvider,
    origin,
    ...(lacksSecondFactor ? { scope: null, access: noProviders } : memberPermissions(session.member)),
  }
  requireUnexpired(viewer)
  return viewer
}

function sessionEnded(): AppError {
  return new AppError('SESSION_ENDED', 'This session has ended: sign in again.')
}
