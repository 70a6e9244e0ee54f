/** Opens connected providers, once for each version of their configuration, and hands out locations in them. */
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
import { type ProviderContext, ReadLocation, WriteLocation } from './location.ts'
import { createLocks } from './locks.ts'
import { isClosedAddress } from './network/index.ts'
import type { FindRecord } from './records.ts'
import { RedactedSecrets, type Redactor } from './redacted-secrets.ts'
import type { Adapter, AdapterRegistry } from './registry.ts'
import { createTokenStore, type TokenStore } from './tokens.ts'
import { checkProvider } from './validate-provider.ts'
import { createWriteTracker } from './write-tracker.ts'

export interface Storage {
  readonly adapters: AdapterRegistry
  /** All that is under way in locations. */
  readonly activeGrants: ActiveGrants
  /** For OAuth flows, which belong to no opened provider. */
  readonly network: Network
  /** The record behind a grant. @throws NOT_FOUND */
  readonly record: FindRecord
  /** @throws NOT_FOUND, INVALID_CONFIG, UNAVAILABLE */
  readAt(grant: Grant): Promise<ReadLocation>
  /** @throws as `readAt` */
  writeAt(grant: Grant<'write'>): Promise<WriteLocation>
  /** The provider itself, for what is asked of it as a whole. @throws as `readAt` */
  provider(record: ProviderRecord): Promise<StorageProvider>
  /** Asks a provider what moves no file content. @throws UNAVAILABLE after a time, BACK_END_FAULT, ... */
  ask<T>(signal: AbortSignal | null, question: (call: Call) => Promise<T>): Promise<T>
  /**
   * Opens a configuration that is not in use (yet), with the tokens of `record`, and closes it again after `use`, which
   * calls it through `ask` only.
   */
  tryOut<T>(
    adapter: Adapter,
    config: Config,
    use: (provider: StorageProvider) => Promise<T>,
    record?: ProviderRecord,
  ): Promise<T>
  readonly tokens: TokenStore
  /** With secrets. @throws UNAVAILABLE where they were stored under another secret */
  config(record: ProviderRecord): Config
  /** Closes a provider that was disconnected. */
  forget(providerId: string): void
  /** Closes what was opened; nothing follows. */
  close(): Promise<void>
}

export interface StorageOptions {
  db: Database
  secrets: Secrets
  adapters: AdapterRegistry
  network: Network
  record: FindRecord
  /** All work in locations is registered here, and checked by it. */
  activeGrants: ActiveGrants
  /** Holds every secret for as long as an adapter has it. */
  redaction: Redactor
  warn: (message: string, details?: Record<string, unknown>) => void
  /** Milliseconds for what moves no file content, opening and closing included. Default: a minute. */
  metadataTimeout?: number | undefined
  /** Milliseconds in which nothing of a transfer moves at the back end. Default: five minutes. */
  transferTimeout?: number | undefined
}

interface CachedProvider {
  version: number
  provider: Promise<ProviderContext>
  /** Those that it was opened with. */
  secrets: DisposableStack
}

/** Milliseconds that transfers under way may go on with a configuration that has changed, or is disconnected. */
const closeDelay = 60 * 60 * 1000

/** How many times as long a step may take that cannot be watched: an hour by default, as a copy of terabytes takes its time. */
const stepsPerTransfer = 12

export function createStorage(options: StorageOptions): Storage {
  const { db, secrets, adapters, network, record, activeGrants, redaction, warn } = options
  const { metadataTimeout = 60_000, transferTimeout = 300_000 } = options
  const timeouts = { transfer: transferTimeout, step: stepsPerTransfer * transferTimeout }
  const cache = new Map<string, CachedProvider>()
  const tokens = createTokenStore({ db, secrets, redaction })
  /** Of each provider as last read, which services use, too. */
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
    question: (call: Call) => Promise<T>,
    discard?: (late: T) => unknown,
  ): Promise<T> {
    const timeout = AbortSignal.timeout(metadataTimeout)
    const bounded = signal ? AbortSignal.any([signal, timeout]) : timeout
    return callAdapter(bounded, () => question({ signal: bounded }), discard)
  }

  function openAdapter({ definition }: Adapter, settings: Config, host: Host): Promise<StorageProvider> {
    const open = async () => checkProvider(await definition.open(settings, host))
    return ask(null, open, late => late.close?.())
  }

  /** Without a record there is nothing that anybody could have authorised. */
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
          // Else a database that does not answer would pass for a fault of the adapter.
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
        throw notNow(cause)
      })
      return { id: record.id, provider, warn: host.warn, metadataTimeout, timeouts, activeGrants, writeTracker }
    })
    cache.set(record.id, { version: record.version, provider, secrets })
    // A failure is not kept: the next call tries again.
    provider.catch(() => {
      secrets.dispose()
      if (cache.get(record.id)?.provider === provider) cache.delete(record.id)
    })
    if (current) closeLater(current)
    return provider
  }

  function closeLater(gone: CachedProvider): void {
    setTimeout(() => void closeOne(gone), closeDelay).unref()
  }

  async function closeProvider(provider: StorageProvider): Promise<void> {
    try {
      await ask(null, async () => provider.close?.())
    } catch (error) {
      warn('A provider could not be closed.', { err: error })
    }
  }

  async function closeOne({ provider, secrets }: CachedProvider): Promise<void> {
    // What could not be opened needs no closing.
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
    ask: (signal, question) => ask(signal, question),
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
      const gone = cache.get(providerId)
      cache.delete(providerId)
      redacted.release(providerId)
      tokens.forget(providerId)
      if (gone) closeLater(gone)
    },
    async close() {
      const all = [...cache.values()]
      cache.clear()
      await Promise.all(all.map(closeOne))
    },
  }
}

/** For those who can mend it; others are told less: see `fromAdapter`. */
function leadsToClosedAddress(cause: unknown): AppError {
  const message =
    'The configuration leads to an address that is closed to providers, as are link-local ones, the metadata services of clouds, multicast and 0.0.0.0: change it, or have the operator of the server open it with STOWAGE_ALLOW_NETWORKS.'
  return new AppError('INVALID_CONFIG', message, { cause })
}

/** What is wrong with a stored configuration is for those who can mend it: see `testProvider`. */
function notNow(error: unknown): unknown {
  if (!(error instanceof AppError) || error.reason !== 'INVALID_CONFIG') return error
  return new AppError('UNAVAILABLE', 'The provider cannot be opened now: an administrator who tests it is told why.', {
    cause: error,
  })
}
