/** OAuth tokens of connected providers: stored encrypted, refreshed once for all who wait, on all replicas. */
import { type OAuthFlow, StorageError, type Tokens } from '../../adapters/contract.ts'
import type { Secrets } from '../auth/secrets.ts'
import type { Database } from '../db/client.ts'
import { findProviderTokens, putProviderTokens, type StoredTokens } from '../db/provider-tokens.ts'
import type { ProviderRecord } from '../db/providers.ts'
import { fault } from './entries.ts'

/** How to get a new access token for one provider. */
export type Refresh = (refreshToken: string) => Promise<Tokens>

export interface TokenStore {
  /** @throws NEEDS_RECONNECT, UNAVAILABLE as StorageError, and what `refresh` throws */
  accessToken(
    provider: Pick<ProviderRecord, 'id' | 'version'>,
    refresh: Refresh,
    options?: { rejected?: string },
  ): Promise<string>
  /** In place of those that are there; within the transaction of `trx`. */
  put(trx: Database, providerId: string, tokens: Tokens): Promise<void>
}

/** Milliseconds that a token must still be good for. */
const margin = 60_000
/** Milliseconds for the vendor to answer; the row is locked meanwhile. */
const vendorTimeout = 30_000

export function createTokenStore({ db, secrets }: { db: Database; secrets: Secrets }): TokenStore {
  /** Of the version that they were asked for: another one may have another person's consent. */
  const known = new Map<string, { version: number; tokens: Tokens }>()
  const refreshing = new Map<string, Promise<Tokens>>()

  const context = (providerId: string) => `${providerId}/tokens`

  function open(providerId: string, stored: StoredTokens | null): Tokens {
    if (!stored) throw new StorageError('NEEDS_RECONNECT', 'Nobody has authorized this provider yet.')
    return { ...JSON.parse(secrets.open(stored.sealed, context(providerId))), expiresAt: stored.expiresAt }
  }

  async function put(trx: Database, providerId: string, { expiresAt, ...rest }: Tokens): Promise<void> {
    const sealed = secrets.seal(JSON.stringify(rest), context(providerId))
    await putProviderTokens(trx, providerId, { sealed, expiresAt })
    known.delete(providerId)
  }

  /** Whoever gets the row's lock second finds what the first one has stored. */
  async function renew(providerId: string, refresh: Refresh, rejected: string | undefined): Promise<Tokens> {
    const current = open(providerId, await findProviderTokens(db, providerId))
    if (isGood(current, rejected)) return current
    return db.transaction().execute(async trx => {
      const locked = open(providerId, await findProviderTokens(trx, providerId, { forUpdate: true }))
      if (isGood(locked, rejected)) return locked
      if (!locked.refreshToken) throw new StorageError('NEEDS_RECONNECT', 'The authorization has ended: give it again.')
      const fresh = checkTokens(await withinTime(refresh(locked.refreshToken)))
      // A vendor that sends no new refresh token means: keep the old one (RFC 6749, section 6).
      const tokens = { refreshToken: locked.refreshToken, ...fresh }
      await put(trx, providerId, tokens)
      return tokens
    })
  }

  return {
    put,
    async accessToken({ id: providerId, version }, refresh, { rejected } = {}) {
      const current = known.get(providerId)
      if (current?.version === version && isGood(current.tokens, rejected)) return current.tokens.accessToken
      const renewal = refreshing.get(providerId) ?? renew(providerId, refresh, rejected)
      refreshing.set(providerId, renewal)
      try {
        const tokens = await renewal
        known.set(providerId, { version, tokens })
        return tokens.accessToken
      } finally {
        if (refreshing.get(providerId) === renewal) refreshing.delete(providerId)
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

/** @throws UNAVAILABLE as StorageError */
export async function withinTime<T>(answer: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    reject(new StorageError('UNAVAILABLE', 'The authorization service does not answer in time.'))
  }, vendorTimeout)
  try {
    return await Promise.race([answer, promise])
  } finally {
    clearTimeout(timer)
  }
}

function isGood(tokens: Tokens, rejected: string | undefined): boolean {
  return tokens.accessToken !== rejected && tokens.expiresAt.getTime() - Date.now() > margin
}

export function needsAuthorization<Config>(flow: OAuthFlow<Config> | undefined, config: Config): boolean {
  return flow !== undefined && (flow.isNeeded?.(config) ?? true)
}
