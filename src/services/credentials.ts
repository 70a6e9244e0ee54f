import { hashToken, isApiKey } from '../auth/api-key.ts'
import type { SessionTokens } from '../auth/session-token.ts'
import { keyReach, memberReach, type Origin, type Viewer } from '../auth/viewer.ts'
import { type OwnedApiKey, prepareOwnedApiKeys } from '../db/api-keys.ts'
import { batched } from '../db/batched.ts'
import type { Database } from '../db/client.ts'
import { prepareSessions, type Session } from '../db/sessions.ts'
import { AppError } from '../errors.ts'
import type { KeyUsage } from './key-usage.ts'

export interface Credentials {
  /**
   * Who a bearer token stands for. Looked up in the database each time, so that what was revoked is refused at once, on
   * every replica. @throws INVALID_CREDENTIAL, KEY_EXPIRED, KEY_REVOKED, SESSION_ENDED
   */
  authenticate(token: string, origin: Origin): Promise<Viewer>
  /** The same for a credential that was authenticated before, by its id. @throws as `authenticate` */
  recall(credential: Pick<Viewer, 'kind' | 'credentialId' | 'origin'>): Promise<Viewer>
}

export function createCredentials({
  db,
  tokens,
  usage,
}: {
  db: Database
  tokens: SessionTokens
  usage: KeyUsage
}): Credentials {
  const findSessions = prepareSessions(db)
  const findKeysByHash = prepareOwnedApiKeys(db, 'key_hash')
  const findKeysById = prepareOwnedApiKeys(db, 'id')
  const sessionById = batched(async (ids: readonly string[]) => {
    return new Map((await findSessions(ids)).map(session => [session.id, session]))
  })
  const keyByHash = batched(async (hashes: readonly string[]) => {
    const found = await findKeysByHash(hashes.map(hash => Buffer.from(hash, 'hex')))
    return new Map(found.map(owned => [owned.hash.toString('hex'), owned]))
  })
  const keyById = batched(async (ids: readonly string[]) => {
    return new Map((await findKeysById(ids)).map(owned => [owned.key.id, owned]))
  })

  function keyViewer(found: OwnedApiKey | null, origin: Origin): Viewer {
    if (!found) throw new AppError('INVALID_CREDENTIAL', 'This API key is unknown.')
    const { key, owner } = found
    const now = new Date()
    if (key.revokedAt) throw new AppError('KEY_REVOKED', 'This API key was revoked: create a new one.')
    if (key.expiresAt && key.expiresAt <= now)
      throw new AppError('KEY_EXPIRED', 'This API key has expired: create a new one.')
    usage.note(key, now)
    return {
      kind: 'API_KEY',
      credentialId: key.id,
      member: owner,
      expiresAt: key.expiresAt,
      origin,
      ...keyReach(owner, key),
    }
  }

  return {
    async authenticate(token, origin) {
      if (isApiKey(token)) return keyViewer(await keyByHash(hashToken(token).toString('hex')), origin)
      const sessionId = tokens.verify(token)
      if (sessionId === null) {
        throw new AppError(
          'INVALID_CREDENTIAL',
          'This token is malformed, expired or not from this server: sign in again.',
        )
      }
      return sessionViewer(await sessionById(sessionId), origin)
    },
    async recall({ kind, credentialId, origin }) {
      return kind === 'API_KEY'
        ? keyViewer(await keyById(credentialId), origin)
        : sessionViewer(await sessionById(credentialId), origin)
    },
  }
}

function sessionViewer(session: Session | null, origin: Origin): Viewer {
  if (!session || session.revokedAt || session.expiresAt <= new Date()) {
    throw new AppError('SESSION_ENDED', 'This session has ended: sign in again.')
  }
  return {
    kind: 'SESSION',
    credentialId: session.id,
    member: session.member,
    expiresAt: session.expiresAt,
    origin,
    ...memberReach(session.member),
  }
}
