/** OAuth tokens of connected providers: stored encrypted, refreshed once for all who wait, on all replicas. */
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
import { withTimeout } from '../timeout.ts'
import { fromAdapter, isStorageError } from './errors.ts'
import { RedactedSecrets, type Redactor } from './redacted-secrets.ts'
import { fault } from './validate-entry.ts'

/** How to get a new access token for one provider. */
export type Refresh = (refreshToken: string) => Promise<Tokens>

export interface TokenStore {
  /** @throws NEEDS_RECONNECT, UNAVAILABLE and others as StorageError; BACK_END_FAULT; what the database throws */
  accessToken(
    provider: Pick<ProviderRecord, 'id' | 'version'>,
    refresh: Refresh,
    options?: { rejected?: string },
  ): Promise<string>
  /** In place of those that are there; within the transaction of `trx`. */
  put(trx: Database, providerId: string, tokens: Tokens): Promise<void>
  /** Ends the consent; within the transaction of `trx`. What a refresh under way gets is not kept. */
  remove(trx: Database, providerId: string): Promise<void>
  /** Drops what this server remembers of a provider that was disconnected. */
  forget(providerId: string): void
}

/** Milliseconds that a token must still be good for. */
const margin = 60_000
/** Milliseconds for the vendor to answer. */
const vendorTimeout = 30_000
/** Milliseconds after which a refresh counts as given up, as its server has died. */
const lease = vendorTimeout + 5000
/** Milliseconds between two looks at whether another server is done. */
const pollInterval = 200
/** Milliseconds for which nobody asks the vendor again with what it has refused. */
const refusalKept = 60_000

interface Refusal {
  refreshToken: string
  error: StorageError
  /** Milliseconds of `performance.now()`. */
  until: number
}

export function createTokenStore(options: { db: Database; secrets: Secrets; redaction: Redactor }): TokenStore {
  const { db, secrets, redaction } = options
  const redacted = new RedactedSecrets(redaction)
  /** Of the version that they were asked for: another one may have another person's consent. */
  const known = new Map<string, { version: number; tokens: Tokens }>()
  const renewals = new Map<string, Promise<Tokens>>()
  const refusals = new Map<string, Refusal>()

  function open(providerId: string, stored: StoredTokens): Tokens {
    try {
      const tokens = { ...JSON.parse(secrets.open('tokens', providerId, stored.sealed)), expiresAt: stored.expiresAt }
      redacted.put(providerId, tokens.accessToken, tokens.refreshToken)
      return tokens
    } catch (cause) {
      if (!(cause instanceof SecretMismatch)) throw cause
      const message = `${cause.message} Set that one, or authorize the provider again.`
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
      // A vendor that sends no new refresh token means: keep the old one (RFC 6749, section 6).
      return { refreshToken, ...checkTokens(await withVendorTimeout(refresh(refreshToken))) }
    } catch (error) {
      if (isStorageError(error) && error.code === 'NEEDS_RECONNECT') {
        refusals.set(providerId, { refreshToken, error, until: performance.now() + refusalKept })
      }
      throw isStorageError(error) ? error : fromAdapter(error)
    }
  }

  /**
   * One server asks the vendor and all others wait for what it stores. No connection to the database is held meanwhile:
   * vendors that do not answer would use them all up.
   */
  async function renew(providerId: string, refresh: Refresh, rejected: string | undefined): Promise<Tokens> {
    for (;;) {
      const stored = await findProviderTokens(db, providerId)
      if (!stored) throw new StorageError('NEEDS_RECONNECT', 'Nobody has authorized this provider yet.')
      const current = open(providerId, stored)
      if (isGood(current, rejected)) return current
      const { refreshToken } = current
      if (!refreshToken) throw new StorageError('NEEDS_RECONNECT', 'The authorization has ended: give it again.')
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
      known.delete(providerId)
      refusals.delete(providerId)
      redacted.release(providerId)
    },

    async accessToken({ id: providerId, version }, refresh, { rejected } = {}) {
      const current = known.get(providerId)
      if (current?.version === version && isGood(current.tokens, rejected)) return current.tokens.accessToken
      const key = `${providerId}/${version}/${rejected ?? ''}`
      const renewal = renewals.get(key) ?? renew(providerId, refresh, rejected)
      renewals.set(key, renewal)
      try {
        const tokens = await renewal
        known.set(providerId, { version, tokens })
        return tokens.accessToken
      } finally {
        if (renewals.get(key) === renewal) renewals.delete(key)
      }
    },
  }
}

/** Holds what an adapter's OAuth flow answers to the contract. @throws BACK_END_FAULT */
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
  const message = 'The authorization service does not answer in time.'
  return withTimeout(response, vendorTimeout, () => new StorageError('UNAVAILABLE', message))
}

function isGood(tokens: Tokens, rejected: string | undefined): boolean {
  return tokens.accessToken !== rejected && tokens.expiresAt.getTime() - Date.now() > margin
}

export function needsAuthorization<Config>(flow: OAuthFlow<Config> | undefined, config: Config): boolean {
  return flow !== undefined && (flow.isNeeded?.(config) ?? true)
}
