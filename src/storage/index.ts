/** Opens each provider once per version of its configuration, and returns locations in it. */
import type { Call, Host, Network, StorageProvider } from '../../adapters/contract.ts'
import { StorageError } from '../../adapters/contract.ts'
import type { Grant } from '../auth/policy.ts'
import { SecretMismatch, type Secrets } from '../auth/secrets.ts'
import type { Database } from '../db/client.ts'
import { type ProviderRecord, setProviderStatus } from '../db/providers.ts'
import { AppError, toAppError } from '../errors.ts'
import type { ActiveGrants } from './active-grants.ts'
import { callAdapter } from './adapter-call.ts'
import type { Config } from './config.ts'
import { isStorageError } from './errors.ts'
import { createLocks } from './locks.ts'
import { isClosedAddress } from './network/index.ts'
import { type ProviderContext, ReadLocation } from './read-location.ts'
import type { FindRecord } from './records.ts'
import { RedactedSecrets, type Redactor } from './redacted-secrets.ts'
import type { Adapter, AdapterRegistry } from './registry.ts'
import { createTokenStore, type TokenStore } from './tokens.ts'
import { checkProvider } from './validate-provider.ts'
import { WriteLocation } from './write-location.ts'
import { createWriteTracker } from './write-tracker.ts'

export interface Storage {
  readonly adapters: AdapterRegistry
  /** The work that runs in locations. */
  readonly activeGrants: ActiveGrants
  /** For OAuth flows, which run before a provider is opened. */
  readonly network: Network
  /** The record behind a grant. @throws NOT_FOUND */
  readonly record: FindRecord
  /** @throws NOT_FOUND, INVALID_CONFIG, UNAVAILABLE */
  readAt(grant: Grant): Promise<ReadLocation>
  /** @throws as `readAt` */
  writeAt(grant: Grant<'write'>): Promise<WriteLocation>
  /** Opens the provider for calls that concern no path, such as `quota`. @throws as `readAt` */
  provider(record: ProviderRecord): Promise<StorageProvider>
  /** Calls a provider for something other than content. @throws UNAVAILABLE after the metadata timeout; BACK_END_FAULT and others */
  ask<T>(signal: AbortSignal | null, call: (call: Call) => Promise<T>): Promise<T>
  /**
   * Opens a configuration that is not in use, with the tokens of `record`, and closes it after `use`. `use` calls the provider
   * only through `ask`.
   */
  tryOut<T>(
    adapter: Adapter,
    config: Config,
    use: (provider: StorageProvider) => Promise<T>,
    record?: ProviderRecord,
  ): Promise<T>
  readonly tokens: TokenStore
  /** Returns the configuration with its secrets. @throws UNAVAILABLE if they were encrypted with another server secret */
  config(record: ProviderRecord): Config
  /** Closes a disconnected provider, an hour later: transfers may still use it. */
  forget(providerId: string): void
  /** Closes all providers. The storage cannot be used afterwards. */
  close(): Promise<void>
}

export interface StorageOptions {
  db: Database
  secrets: Secrets
  adapters: AdapterRegistry
  network: Network
  record: FindRecord
  /** Registers all work in locations, and checks its grants. */
  activeGrants: ActiveGrants
  /** Redacts each secret from the log while an adapter has it. */
  redaction: Redactor
  warn: (message: string, details?: Record<string, unknown>) => void
  /** Milliseconds for a call that moves no file content, also `open` and `close`. Default: a minute. */
  metadataTimeout?: number | undefined
  /** Milliseconds without progress of a transfer at the back end. Default: five minutes. */
  transferTimeout?: number | undefined
}

interface CachedProvider {
  version: number
  provider: Promise<ProviderContext>
  /** Redacts the secrets that the provider was opened with. */
  secrets: DisposableStack
}

/** Milliseconds for which running transfers may use a configuration after it was changed or disconnected. */
const closeDelay = 60 * 60 * 1000

/** A step whose progress is invisible may take longer by this factor: an hour by default, for a copy of terabytes. */
const stepsPerTransfer = 12

export function createStorage(options: StorageOptions): Storage {
  const { db, secrets, adapters, network, record, activeGrants, redaction, warn } = options
  const { metadataTimeout = 60_000, transferTimeout = 300_000 } = options
  const timeouts = { transfer: transferTimeout, step: stepsPerTransfer * transferTimeout }
  const cache = new Map<string, CachedProvider>()
  const tokens = createTokenStore({ db, secrets, redaction })
  /** The secrets of each provider as last read, for services too. */
  const redacted = new RedactedSecrets(redaction)
  const writeTracker = createWriteTracker({ db, secrets })
  const { exclusively } = createLocks(db)

  function adapterOf(record: ProviderRecord): Adapter {
    const adapter = adapters.find(record.type)
    if (!adapter) {
      throw new AppError(
        'UNAVAILABLE',
        `This server has no adapter of the type "${record.type}": see STOWAGE_ADAPTERS.`,
      )
    }
    return adapter
  }

  function config(record: ProviderRecord): Config {
    try {
      const secret = record.sealedSecrets ? JSON.parse(secrets.open('provider', record.id, record.sealedSecrets)) : {}
      redacted.put(record.id, ...Object.values(secret))
      return { ...record.config, ...secret }
    } catch (error) {
      if (!(error instanceof SecretMismatch)) throw error
      throw new AppError('UNAVAILABLE', `${error.message} Set that one, or enter the credentials again.`, {
        cause: error,
      })
    }
  }

  function ask<T>(
    signal: AbortSignal | null,
    call: (call: Call) => Promise<T>,
    discard?: (late: T) => unknown,
  ): Promise<T> {
    const timeout = AbortSignal.timeout(metadataTimeout)
    const bounded = signal ? AbortSignal.any([signal, timeout]) : timeout
    return callAdapter(bounded, () => call({ signal: bounded }), discard)
  }

  function openAdapter({ definition }: Adapter, settings: Config, host: Host): Promise<StorageProvider> {
    const open = async () => checkProvider(await definition.open(settings, host))
    return ask(null, open, late => late.close?.())
  }

  /** @param record undefined for a provider that is not stored yet, so has no tokens */
  function hostFor({ definition }: Adapter, settings: Config, record?: ProviderRecord): Host {
    const { oauth, type } = definition
    return {
      network,
      exclusively,
      async accessToken(options) {
        if (!oauth || !record) throw new StorageError('NEEDS_RECONNECT', 'Nobody has authorized this provider.')
        try {
          return await tokens.accessToken(record, token => oauth.refresh(settings, token, network), options)
        } catch (error) {
          // Otherwise a failure of the database would count as a fault of the adapter.
          if (!isStorageError(error)) throw toAppError(error)
          if (error.code === 'NEEDS_RECONNECT') await noteNeedsReconnect(record, error.message)
          throw error
        }
      },
      warn: (message, more) => warn(message, { ...more, type, providerId: record?.id }),
    }
  }

  async function noteNeedsReconnect(record: ProviderRecord, statusReason: string): Promise<void> {
    const status = record.status === 'NEEDS_AUTHORIZATION' ? record.status : 'NEEDS_RECONNECT'
    await setProviderStatus(db, record, { status, statusReason })
  }

  function open(record: ProviderRecord): Promise<ProviderContext> {
    const current = cache.get(record.id)
    if (current?.version === record.version) return current.provider
    const secrets = new DisposableStack()
    const provider = Promise.resolve().then(async () => {
      const [adapter, settings] = [adapterOf(record), config(record)]
      secrets.use(redaction.hold(...Object.values(adapter.rules.split(settings).secret)))
      const host = hostFor(adapter, settings, record)
      const provider = await openAdapter(adapter, settings, host).catch(cause => {
        throw withoutDetails(cause)
      })
      return { id: record.id, provider, warn: host.warn, metadataTimeout, timeouts, activeGrants, writeTracker }
    })
    cache.set(record.id, { version: record.version, provider, secrets })
    // A failure is not cached: the next call tries again.
    provider.catch(() => {
      secrets.dispose()
      if (cache.get(record.id)?.provider === provider) cache.delete(record.id)
    })
    if (current) closeLater(current)
    return provider
  }

  function closeLater(removed: CachedProvider): void {
    setTimeout(() => void closeOne(removed), closeDelay).unref()
  }

  async function closeProvider(provider: StorageProvider): Promise<void> {
    try {
      await ask(null, async () => provider.close?.())
    } catch (error) {
      warn('A provider could not be closed.', { err: error })
    }
  }

  async function closeOne({ provider, secrets }: CachedProvider): Promise<void> {
    // A provider that failed to open needs no closing.
    const opened = await provider.catch(() => null)
    if (opened) await closeProvider(opened.provider)
    secrets.dispose()
  }

  return {
    adapters,
    activeGrants,
    network,
    record,
    config,
    async readAt(grant) {
      await activeGrants.confirm([grant])
      return new ReadLocation(await open(await record(grant)), grant)
    },
    async writeAt(grant) {
      await activeGrants.confirm([grant])
      return new WriteLocation(await open(await record(grant)), grant)
    },
    provider: async record => (await open(record)).provider,
    ask: (signal, call) => ask(signal, call),
    tokens,
    async tryOut(adapter, settings, use, record) {
      using _held = redaction.hold(...Object.values(adapter.rules.split(settings).secret))
      try {
        const provider = await openAdapter(adapter, settings, hostFor(adapter, settings, record))
        try {
          return await use(provider)
        } finally {
          await closeProvider(provider)
        }
      } catch (error) {
        throw isClosedAddress(error) ? leadsToClosedAddress(error) : error
      }
    },
    forget(providerId) {
      const removed = cache.get(providerId)
      cache.delete(providerId)
      redacted.release(providerId)
      tokens.forget(providerId)
      if (removed) closeLater(removed)
    },
    async close() {
      const all = [...cache.values()]
      cache.clear()
      await Promise.all(all.map(closeOne))
    },
  }
}

/** The message for administrators, who can fix the configuration. `fromAdapter` has the one for others. */
function leadsToClosedAddress(cause: unknown): AppError {
  const message =
    'The configuration uses an address that is closed to providers, such as a link-local address, the metadata service of a cloud, a multicast address or 0.0.0.0: change it, or ask the operator of the server to allow it with STOWAGE_ALLOW_NETWORKS.'
  return new AppError('INVALID_CONFIG', message, { cause })
}

/** Hides the details of an invalid stored configuration. Administrators see them with `testProvider`. */
function withoutDetails(error: unknown): unknown {
  if (!(error instanceof AppError) || error.reason !== 'INVALID_CONFIG') return error
  return new AppError('UNAVAILABLE', 'The provider cannot be opened now: an administrator who tests it sees why.', {
    cause: error,
  })
}
