/** Share links as credentials. A link has the rights of its creator and of the API key that created it, limited to what is shared. */
import { requireLive, requireRecipient } from '../../auth/policy.ts'
import { keyPermissions, memberPermissions, type Origin, sharePermissions, type Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { batched } from '../../db/lookups.ts'
import { type OwnedShare, prepareOwnedShares } from '../../db/shares/shares.ts'
import { AppError } from '../../errors.ts'
import type { RightsMemory } from './rights-memory.ts'

/** Finds shares. Lookups that arrive together share a query. */
export function createShareLookups(db: Database, memory: RightsMemory) {
  const findByHash = prepareOwnedShares(db, 'token_hash')
  const findById = prepareOwnedShares(db, 'id')
  return {
    /** @param hash hexadecimal */
    byHash: memory.remembering(
      'share by hash',
      batched(async (hashes: readonly string[]) => {
        const found = await findByHash(hashes.map(hash => Buffer.from(hash, 'hex')))
        return new Map(found.map(each => [each.tokenHash.toString('hex'), each]))
      }),
    ),
    byId: memory.remembering(
      'share by id',
      batched(async (ids: readonly string[]) => {
        const found = await findById(ids)
        return new Map(found.map(each => [each.share.id, each]))
      }),
    ),
  }
}

/** Returns the viewer of a share, which may have expired. @throws SHARE_ENDED */
export function shareViewer(found: OwnedShare | null, origin: Origin): Viewer {
  if (!found || found.share.revokedAt) throw new AppError('SHARE_ENDED', 'This share link was revoked.')
  const { share, creator, key, seenProvider } = found
  const hasKey = key !== null && (!key.expiresAt || key.expiresAt > new Date())
  if (share.credentialKind === 'API_KEY' && !hasKey) {
    throw new AppError('SHARE_ENDED', 'This share link has ended with the API key that made it.')
  }
  const { kind, providerId, paths, recipients } = share
  const shared = { kind, providerId, paths, recipients }
  const viewer: Viewer = {
    kind: 'SHARE',
    credentialId: share.id,
    outlivesSession: false,
    displayPrefix: null,
    shared,
    member: creator,
    expiresAt: share.expiresAt,
    verifiedAt: null,
    lacksSecondFactor: false,
    confirmedAt: performance.now(),
    seenProvider,
    origin,
    ...sharePermissions(key ? keyPermissions(creator, key) : memberPermissions(creator), shared),
  }
  requireLive(viewer)
  return viewer
}

/**
 * Returns the viewer of a share as the member of a session, if only some members can open it.
 * @throws SESSION_REQUIRED, SECOND_FACTOR_REQUIRED, SHARE_ENDED
 */
export function asRecipient(viewer: Viewer, session: Viewer | null): Viewer {
  requireRecipient(viewer, session)
  if (!viewer.shared?.recipients || !session) return viewer
  return { ...viewer, openedBy: { sessionId: session.credentialId, userId: session.member.userId } }
}

export function unknownShare(): AppError {
  return new AppError('INVALID_CREDENTIAL', 'This share link is unknown: check that it is complete.')
}
