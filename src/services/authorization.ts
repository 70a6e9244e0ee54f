/** OAuth consent for providers that need one: asked for by an administrator, completed by their browser. */
import { createHash, randomBytes } from 'node:crypto'
import type { OAuthFlow } from '../../adapters/contract.ts'
import { hashToken } from '../auth/api-key.ts'
import { grantProvider } from '../auth/policy.ts'
import type { Secrets } from '../auth/secrets.ts'
import type { Origin, Viewer } from '../auth/viewer.ts'
import type { Change, Database } from '../db/client.ts'
import { findMember } from '../db/members.ts'
import { deleteOAuthStatesExpiredBefore, insertOAuthState, takeOAuthState } from '../db/oauth-states.ts'
import { type ProviderRecord, updateProvider } from '../db/providers.ts'
import { AppError } from '../errors.ts'
import type { Config } from '../storage/config.ts'
import { fromAdapter } from '../storage/errors.ts'
import type { Storage } from '../storage/host.ts'
import { checkTokens, needsAuthorization, withinTime } from '../storage/tokens.ts'
import type { Audit } from './audit.ts'
import type { Credentials } from './credentials.ts'

/** What the vendor's redirect brings (RFC 6749, section 4.1.2); each is absent where it is null. */
export interface Callback {
  code: string | null
  state: string | null
  error: string | null
}

/** What is kept of a consent under way, encrypted. */
interface Pending {
  /** What it was begun with. */
  by: Pick<Viewer, 'kind' | 'credentialId'>
  codeVerifier: string
  redirectUri: string
}

/** Milliseconds that a person has for it. */
const lifetime = 10 * 60 * 1000

export function createAuthorization(options: {
  db: Database
  secrets: Secrets
  storage: Storage
  credentials: Pick<Credentials, 'recall'>
  audit: Audit
}) {
  const { db, secrets, storage, credentials, audit } = options

  function flowOf(record: ProviderRecord): { flow: OAuthFlow<Config>; config: Config } {
    const flow = storage.adapters.find(record.type)?.definition.oauth
    const config = storage.config(record)
    if (!flow || !needsAuthorization(flow, config)) {
      throw new AppError('INVALID_INPUT', `The provider "${record.name}" needs no authorization.`)
    }
    return { flow, config }
  }

  async function begin(change: Change, viewer: Viewer, record: ProviderRecord, baseUrl: string): Promise<string> {
    const { flow, config } = flowOf(record)
    const state = randomBytes(32).toString('base64url')
    const pending: Pending = {
      by: { kind: viewer.kind, credentialId: viewer.credentialId },
      codeVerifier: randomBytes(32).toString('base64url'),
      redirectUri: `${baseUrl}/webhook/callback`,
    }
    // RFC 7636, section 4.2: S256.
    const codeChallenge = createHash('sha256').update(pending.codeVerifier).digest('base64url')
    const stateHash = hashToken(state)
    const { userId, workspaceId } = viewer.member
    const sealed = secrets.seal(JSON.stringify(pending), stateHash.toString('hex'))
    const expiresAt = new Date(Date.now() + lifetime)
    await insertOAuthState(change, { stateHash, providerId: record.id, workspaceId, userId, sealed, expiresAt })
    try {
      return flow.authorizeUrl(config, { redirectUri: pending.redirectUri, state, codeChallenge }).href
    } catch (error) {
      throw fromAdapter(error)
    }
  }

  return {
    /**
     * Where the person goes to give consent. `baseUrl` is this server's address for browsers.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, NOT_FOUND, INVALID_INPUT where the provider needs none
     */
    authorize(viewer: Viewer | null, id: string, baseUrl: string): Promise<string> {
      return audit.recorded(viewer, 'PROVIDER_AUTHORIZE', { place: { providerId: id } }, async recording => {
        const granted = grantProvider(viewer, 'admin', id)
        const record = await storage.record(granted)
        return recording.commit(change => begin(change, granted.viewer, record, baseUrl))
      })
    },

    /**
     * What it was begun with must still be good, and reach the provider. Each state works once.
     * @throws INVALID_STATE, AUTHORIZATION_REFUSED, KEY_REVOKED, SESSION_ENDED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, NOT_FOUND, UNAVAILABLE, ...
     */
    async complete({ code, state, error }: Callback, origin: Origin): Promise<ProviderRecord> {
      const stateHash = hashToken(state ?? '')
      const taken = state === null ? null : await takeOAuthState(db, stateHash)
      if (!taken) throw new AppError('INVALID_STATE')
      const { by, codeVerifier, redirectUri }: Pending = JSON.parse(
        secrets.open(taken.sealed, stateHash.toString('hex')),
      )
      const member = await findMember(db, taken.workspaceId, taken.userId)
      const credential = { kind: by.kind, id: by.credentialId }
      const facts = { place: { providerId: taken.providerId }, credential, ...(member && { user: member }) }
      const recall = () => credentials.recall({ ...by, origin })
      return audit.recorded({ origin }, 'PROVIDER_CONSENT', facts, async recording => {
        const record = await storage.record(grantProvider(await recall(), 'admin', taken.providerId))
        if (error !== null || code === null) throw new AppError('AUTHORIZATION_REFUSED')
        const { flow, config } = flowOf(record)
        const given = { code, codeVerifier, redirectUri }
        const tokens = await withinTime(flow.exchange(config, given, storage.network)).then(checkTokens, cause => {
          throw fromAdapter(cause)
        })
        // The vendor may have taken its time.
        grantProvider(await recall(), 'admin', taken.providerId)
        return recording.commit(async trx => {
          // A new version: what was opened with the consent of somebody else is not used again.
          const connected = await updateProvider(trx, record, { status: 'CONNECTED', statusReason: null })
          if (!connected) throw new AppError('INVALID_STATE', 'The provider was changed meanwhile: authorize it again.')
          await storage.tokens.put(trx, record.id, tokens)
          return connected
        })
      })
    },

    async sweep(): Promise<void> {
      await deleteOAuthStatesExpiredBefore(db, new Date())
    },
  }
}
