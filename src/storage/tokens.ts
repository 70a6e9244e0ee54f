/** OAuth tokens of connected providers. They are stored encrypted, and one refresh serves all callers on all replicas. */
import { setTimeout as delay } from 'node:timers/promises'
import { type OAuthFlow, StorageError, type Tokens } from '../../adapters/contract.ts'
import { SecretMismatch, type Secrets } from '../auth/secrets.ts'
import type { Database } from '../db/client.ts'
import {
  claimRefresh,
  deleteProviderTokens,
  endRefresh,
  findProviderTokens,
  putProviderTokens,
  type StoredTokens,
} from '../db/provider-tokens.ts'
import type { ProviderRecord } from '../db/providers.ts'
import { withTimeout } from '../lib/timeout.ts'
import { fromAdapter, isStorageError } from './adapter-call.ts'
import { fault } from './validate-entry.ts'

/** Requests new tokens for one provider from its vendor. */
type Refresh = (refreshToken: string) => Promise<Tokens>

export interface TokenStore {
  /** @throws NEEDS_RECONNECT, UNAVAILABLE and others as StorageError; BACK_END_FAULT; errors of the database */
  accessToken(
    provider: Pick<ProviderRecord, 'id' | 'version'>,
    refresh: Refresh,
    options?: { rejected?: string },
  ): Promise<string>
  /** Replaces the stored tokens, in the transaction of `trx`. */
  put(trx: Database, providerId: string, tokens: Tokens): Promise<void>
  /** Deletes the tokens, in the transaction of `trx`. A running refresh then discards its result. */
  remove(trx: Database, providerId: string): Promise<void>
  /** Clears this server's cache for a disconnected provider. */
  forget(providerId: string): void
}

/** The minimum validity of a returned token, in milliseconds. */
const minValidity = 60_000
/** Milliseconds for the vendor's response. */
const vendorTimeout = 30_000
/** Milliseconds after which another server may take over a refresh, because the first one was probably killed. */
const lease = vendorTimeout + 5000
/** Milliseconds between checks whether another server has finished its refresh. */
const pollInterval = 200
/** Milliseconds for which a refused refresh token is not sent to the vendor again. */
const refusalTime = 60_000

interface Refusal {
  refreshToken: string
  error: StorageError
  /** Milliseconds of `performance.now()`. */
  until: number
}

export function createTokenStore(options: { db: Database; secrets: Secrets; redaction: Redactor }): TokenStore {
  const { db, secrets, redaction } = options
  const redacted = new RedactedSecrets(redaction)
  /** Tokens with the version of the provider's configuration: a later one may have another person's consent. */
  const cache = new Map<string, { version: number; tokens: Tokens }>()
  const renewals = new Map<string, Promise<Tokens>>()
  const refusals = new Map<string, Refusal>()

  function open(providerId: string, stored: StoredTokens): Tokens {
    try {
      const tokens = { ...JSON.parse(secrets.open('tokens', providerId, stored.sealed)), expiresAt: stored.expiresAt }
      redacted.put(providerId, tokens.accessToken, tokens.refreshToken)
      return tokens
    } catch (cause) {
      if (!(cause instanceof SecretMismatch)) throw cause
      const message = `${cause.message} Set that secret, or authorize the provider again.`
      throw new StorageError('NEEDS_RECONNECT', message, { cause })
    }
  }

  function seal(providerId: string, { expiresAt, ...rest }: Tokens): StoredTokens {
    redacted.put(providerId, rest.accessToken, rest.refreshToken)
    return { sealed: secrets.seal('tokens', providerId, JSON.stringify(rest)), expiresAt }
  }

  async function ask(providerId: string, refresh: Refresh, refreshToken: string): Promise<Tokens> {
    const refusal = refusals.get(providerId)
    if (refusal?.refreshToken === refreshToken && performance.now() < refusal.until) throw refusal.error
    try {
      // Without a new refresh token in the response, the old one stays valid (RFC 6749, section 6).
      return { refreshToken, ...checkTokens(await withVendorTimeout(refresh(refreshToken))) }
    } catch (error) {
      if (isStorageError(error) && error.code === 'NEEDS_RECONNECT') {
        refusals.set(providerId, { refreshToken, error, until: performance.now() + refusalTime })
      }
      throw isStorageError(error) ? error : fromAdapter(error)
    }
  }

  /**
   * Refreshes the tokens. One server asks the vendor, and the others wait for the tokens that it stores. The wait holds no
   * connection to the database: slow vendors would otherwise exhaust the pool.
   */
  async function renew(providerId: string, refresh: Refresh, rejected: string | undefined): Promise<Tokens> {
    for (;;) {
      const stored = await findProviderTokens(db, providerId)
      if (!stored) throw new StorageError('NEEDS_RECONNECT', 'Nobody has authorized this provider yet.')
      const current = open(providerId, stored)
      if (isUsable(current, rejected)) return current
      const { refreshToken } = current
      if (!refreshToken)
        throw new StorageError('NEEDS_RECONNECT', 'The authorization has ended: authorize the provider again.')
      if (!(await claimRefresh(db, providerId, stored.sealed, lease))) {
        await delay(pollInterval)
        continue
      }
      const tokens = await ask(providerId, refresh, refreshToken).catch(async error => {
        await endRefresh(db, providerId, stored.sealed)
        throw error
      })
      if (await endRefresh(db, providerId, stored.sealed, seal(providerId, tokens))) return tokens
    }
  }

  return {
    async put(trx, providerId, tokens) {
      await putProviderTokens(trx, providerId, seal(providerId, tokens))
    },

    remove: deleteProviderTokens,

    forget(providerId) {
      cache.delete(providerId)
      refusals.delete(providerId)
      redacted.release(providerId)
    },

    async accessToken({ id: providerId, version }, refresh, { rejected } = {}) {
      const current = cache.get(providerId)
      if (current?.version === version && isUsable(current.tokens, rejected)) return current.tokens.accessToken
      const key = `${providerId}/${version}/${rejected ?? ''}`
      const renewal = renewals.get(key) ?? renew(providerId, refresh, rejected)
      renewals.set(key, renewal)
      try {
        const tokens = await renewal
        cache.set(providerId, { version, tokens })
        return tokens.accessToken
      } finally {
        if (renewals.get(key) === renewal) renewals.delete(key)
      }
    },
  }
}

/** Validates the tokens that an adapter's OAuth flow returns. @throws BACK_END_FAULT */
export function checkTokens(tokens: Tokens): Tokens {
  const { accessToken, refreshToken, expiresAt } = tokens
  const isToken = (value: unknown) => typeof value === 'string' && value !== ''
  if (!isToken(accessToken) || !(expiresAt instanceof Date) || Number.isNaN(expiresAt.getTime())) {
    throw fault('no usable access token')
  }
  return { accessToken, expiresAt, ...(isToken(refreshToken) && refreshToken !== undefined && { refreshToken }) }
}

/** @throws UNAVAILABLE as StorageError, after 30 seconds */
export function withVendorTimeout<T>(response: Promise<T>): Promise<T> {
  const message = 'The authorization service does not respond in time.'
  return withTimeout(response, vendorTimeout, () => new StorageError('UNAVAILABLE', message))
}

function isUsable(tokens: Tokens, rejected: string | undefined): boolean {
  return tokens.accessToken !== rejected && tokens.expiresAt.getTime() - Date.now() > minValidity
}

export function needsAuthorization<Config>(flow: OAuthFlow<Config> | undefined, config: Config): boolean {
  return flow !== undefined && (flow.isNeeded?.(config) ?? true)
}

/** Redacts secrets from the log until the result is disposed of. */
export interface Redactor {
  hold(...secrets: readonly unknown[]): Disposable
}

/** The secrets in use, by owner. New secrets of an owner replace the old ones. */
export class RedactedSecrets {
  readonly #redaction: Redactor
  readonly #redactions = new Map<string, Disposable>()

  constructor(redaction: Redactor) {
    this.#redaction = redaction
  }

  put(owner: string, ...secrets: readonly unknown[]): void {
    const redaction = this.#redaction.hold(...secrets)
    this.release(owner)
    this.#redactions.set(owner, redaction)
  }

  release(owner: string): void {
    this.#redactions.get(owner)?.[Symbol.dispose]()
    this.#redactions.delete(owner)
  }
}
