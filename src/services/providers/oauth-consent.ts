/** OAuth consent for providers. An administrator requests it and completes it in their browser. */
import { createHash, randomBytes } from 'node:crypto'
import type { OAuthFlow } from '../../../adapters/contract.ts'
import { hashToken } from '../../auth/api-key.ts'
import { authorize, needs } from '../../auth/needs.ts'
import { SecretMismatch, type Secrets } from '../../auth/secrets.ts'
import { bindState, createBrowserKey, createTicket, isBoundState, ticketOf } from '../../auth/tokens.ts'
import type { Origin, Viewer } from '../../auth/viewer.ts'
import type { Change, Database } from '../../db/client.ts'
import { findMember } from '../../db/members.ts'
import {
  deleteOAuthStatesExpiredBefore,
  findOAuthState,
  insertOAuthState,
  type OAuthState,
  takeOAuthState,
} from '../../db/provider-tokens.ts'
import { type ProviderRecord, updateProvider } from '../../db/providers.ts'
import { findWorkspace } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import { fromAdapter } from '../../storage/adapter-call.ts'
import type { Config } from '../../storage/config.ts'
import type { Storage } from '../../storage/index.ts'
import { checkTokens, needsAuthorization, withVendorTimeout } from '../../storage/tokens.ts'
import type { Audit } from '../audit/index.ts'
import type { Credentials } from '../people/credentials.ts'
import { createBackEndTests, requireAdapter } from './back-end-tests.ts'
import { isCompared, requireFreeRoot, requireStillFreeRoot } from './roots.ts'

/** The parameters of the vendor's redirect (RFC 6749, section 4.1.2); null if absent. */
export interface Callback {
  code: string | null
  state: string | null
  error: string | null
}

/** The state of a pending consent, which is stored encrypted. */
interface Pending {
  /** The credential that began the consent. */
  by: Pick<Viewer, 'kind' | 'credentialId'>
  /** The version of the provider. A changed configuration must not receive the code. */
  version: number
  codeVerifier: string
  redirectUri: string
}

/** The facts that a person sees before they go to the vendor's page. */
export interface PendingConsent {
  /** The email of the person who requested the consent. */
  email: string
  workspaceName: string
  providerName: string
  /** The display name of the vendor. */
  vendor: string
  /**
   * Returns the URL at which a person gives consent. The vendor's redirect is accepted only from the browser with this
   * key.
   */
  vendorUrl(browserKey: string): string
}

/** Milliseconds to give consent. */
const lifetime = 10 * 60 * 1000

export function createAuthorization(options: {
  db: Database
  secrets: Secrets
  storage: Storage
  credentials: Pick<Credentials, 'recall'>
  audit: Audit
}) {
  const { db, secrets, storage, credentials, audit } = options
  const tests = createBackEndTests({ db, storage })

  function flowOf(record: ProviderRecord): { flow: OAuthFlow<Config>; config: Config } {
    const flow = storage.adapters.find(record.type)?.definition.oauth
    const config = storage.config(record)
    if (!flow || !needsAuthorization(flow, config)) {
      throw new AppError('INVALID_INPUT', `The provider "${record.name}" needs no authorization.`)
    }
    return { flow, config }
  }

  /** @throws the adapter's error, as an AppError */
  function vendorUrl(record: ProviderRecord, { codeVerifier, redirectUri }: Pending, state: string): string {
    const { flow, config } = flowOf(record)
    // RFC 7636, section 4.2: S256.
    const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url')
    try {
      return flow.authorizeUrl(config, { redirectUri, state, codeChallenge }).href
    } catch (error) {
      throw fromAdapter(error)
    }
  }

  async function begin(change: Change, viewer: Viewer, record: ProviderRecord, baseUrl: string): Promise<string> {
    const pending: Pending = {
      by: { kind: viewer.kind, credentialId: viewer.credentialId },
      version: record.version,
      codeVerifier: randomBytes(32).toString('base64url'),
      redirectUri: `${baseUrl}/webhook/callback`,
    }
    const ticket = createTicket()
    // Fail now if the configuration is incomplete, because this viewer can fix it.
    vendorUrl(record, pending, bindState(ticket, createBrowserKey()))
    const stateHash = hashToken(ticket)
    const { userId, workspaceId } = viewer.member
    const sealed = secrets.seal('consent', stateHash.toString('hex'), JSON.stringify(pending))
    const expiresAt = new Date(Date.now() + lifetime)
    await insertOAuthState(change, { stateHash, providerId: record.id, workspaceId, userId, sealed, expiresAt })
    return `${baseUrl}/oauth/start?ticket=${ticket}`
  }

  function unseal(stored: OAuthState, stateHash: Buffer): Pending {
    try {
      return JSON.parse(secrets.open('consent', stateHash.toString('hex'), stored.sealed))
    } catch (cause) {
      if (!(cause instanceof SecretMismatch)) throw cause
      throw new AppError('INVALID_STATE', `${cause.message} Authorize the provider again.`, { cause })
    }
  }

  /** Requires that the credential is still valid and may manage the provider, and that the provider is unchanged. */
  async function confirm({ by, version }: Pending, providerId: string, origin: Origin) {
    const now = await credentials.recall({ ...by, origin })
    const [granted] = authorize(now, needs.manageProvider, { id: providerId })
    const record = await storage.record(granted)
    if (record.version !== version) throw changedMeanwhile()
    return { record, viewer: granted.viewer }
  }

  /** Returns the root that the consent opens, which nobody could look at before. @throws INVALID_CONFIG, UNAVAILABLE and others */
  async function rootWith(accessToken: string, record: ProviderRecord) {
    const isEncrypted = record.encryption !== null
    const own = { ...record, rootId: undefined, isEncrypted }
    if (!(await isCompared(db, record.type, isEncrypted))) return own
    const tryOut = (isNew: boolean) => {
      const options = { record, encryption: storage.encryption(record), isNew, accessToken }
      return tests.tryOut(requireAdapter(storage, record.type), storage.config(record), options)
    }
    const isFirst = record.status === 'NEEDS_AUTHORIZATION'
    const opened = { ...own, rootId: await tryOut(isFirst) }
    // Another account may have given consent. A damaged file in the same root does not prevent that somebody renews the consent.
    if (isEncrypted && !isFirst && opened.rootId !== record.rootId) await tryOut(true)
    await requireFreeRoot(db, opened, storage)
    return opened
  }

  return {
    /**
     * Returns the URL of the page on this server where a person starts the consent. `baseUrl` is the public URL.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, NOT_FOUND, INVALID_INPUT if the provider needs no consent
     */
    authorize(viewer: Viewer | null, id: string, baseUrl: string): Promise<string> {
      return audit.recorded(viewer, 'PROVIDER_AUTHORIZE', { location: { providerId: id } }, async recording => {
        const [granted] = authorize(viewer, needs.manageProvider, { id })
        const record = await storage.record(granted)
        return recording.commit(change => begin(change, granted.viewer, record, baseUrl))
      })
    },

    /** Describes a pending consent without changing it. @throws as `complete` */
    async pending(ticket: string, origin: Origin): Promise<PendingConsent> {
      const stateHash = hashToken(ticket)
      const found = await findOAuthState(db, stateHash)
      if (!found) throw new AppError('INVALID_STATE')
      const pending = unseal(found, stateHash)
      const { record, viewer } = await confirm(pending, found.providerId, origin)
      const workspace = await findWorkspace(db, found.workspaceId)
      return {
        email: viewer.member.email,
        workspaceName: workspace?.name ?? '',
        providerName: record.name,
        vendor: storage.adapters.find(record.type)?.definition.title ?? record.type,
        vendorUrl: browserKey => vendorUrl(record, pending, bindState(ticket, browserKey)),
      }
    },

    /**
     * Completes a consent. Its credential must still be valid and manage the provider. Each state works once, in one browser.
     * @param browserKey null if the browser sent none
     * @throws INVALID_STATE, AUTHORIZATION_REFUSED, INVALID_CONFIG, KEY_REVOKED, SESSION_ENDED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, NOT_FOUND,
     * UNAVAILABLE, ...
     */
    async complete(
      { code, state, error }: Callback,
      browserKey: string | null,
      origin: Origin,
    ): Promise<ProviderRecord> {
      const stateHash = hashToken(ticketOf(state ?? ''))
      const taken = state === null ? null : await takeOAuthState(db, stateHash)
      if (!taken || state === null) throw new AppError('INVALID_STATE')
      const pending = unseal(taken, stateHash)
      const { by, codeVerifier, redirectUri } = pending
      const member = await findMember(db, taken.workspaceId, taken.userId)
      const credential = { kind: by.kind, id: by.credentialId }
      const facts = { location: { providerId: taken.providerId }, credential, ...(member && { user: member }) }
      return audit.recorded({ origin }, 'PROVIDER_CONSENT', facts, async recording => {
        if (!isBoundState(state, browserKey)) {
          throw new AppError('INVALID_STATE', 'This authorization was begun in another browser, or without cookies.')
        }
        const { record } = await confirm(pending, taken.providerId, origin)
        if (error !== null || code === null) throw new AppError('AUTHORIZATION_REFUSED')
        const { flow, config } = flowOf(record)
        const given = { code, codeVerifier, redirectUri }
        const tokens = await withVendorTimeout(flow.exchange(config, given, storage.network)).then(
          checkTokens,
          cause => {
            throw fromAdapter(cause)
          },
        )
        const root = await rootWith(tokens.accessToken, record)
        // The vendor may have been slow, so check the credential again.
        await credentials
          .recall({ ...by, origin })
          .then(viewer => authorize(viewer, needs.manageProvider, { id: taken.providerId }))
        return recording.commit(async trx => {
          await requireStillFreeRoot(trx, root)
          // This increases the version, so that back ends opened with an earlier consent are not reused.
          const connected = await updateProvider(trx, record, {
            status: 'CONNECTED',
            statusReason: null,
            // An earlier root may be that of another account.
            rootId: root.rootId ?? null,
          })
          if (!connected) throw changedMeanwhile()
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

function changedMeanwhile(): AppError {
  return new AppError('INVALID_STATE', 'The provider was changed meanwhile: authorize it again.')
}
