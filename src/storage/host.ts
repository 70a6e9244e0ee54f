/** Opens connected providers, once for each version of their configuration, and hands out locations in them. */
import type { Host, StorageProvider } from '../../adapters/contract.ts'
import { StorageError } from '../../adapters/contract.ts'
import { isId } from '../auth/id.ts'
import type { Grant } from '../auth/policy.ts'
import { SecretMismatch, type Secrets } from '../auth/secrets.ts'
import { batched } from '../db/batched.ts'
import type { Database } from '../db/client.ts'
import { findProviders, type ProviderRecord, setProviderStatus } from '../db/providers.ts'
import { AppError } from '../errors.ts'
import type { Config } from './config.ts'
import { fromAdapter, isStorageError } from './errors.ts'
import { type OpenedProvider, ReadLocation, WriteLocation } from './location.ts'
import type { Adapter, AdapterRegistry } from './registry.ts'
import { createTokenStore, type TokenStore } from './tokens.ts'

export interface Storage {
  readonly adapters: AdapterRegistry
  /** The record behind a grant. @throws NOT_FOUND */
  record(grant: Grant): Promise<ProviderRecord>
  /** @throws NOT_FOUND, INVALID_CONFIG, UNAVAILABLE */
  readAt(grant: Grant): Promise<ReadLocation>
  /** @throws as `readAt` */
  writeAt(grant: Grant<'write'>): Promise<WriteLocation>
  /** The provider itself, for what is asked of it as a whole. @throws as `readAt` */
  provider(record: ProviderRecord): Promise<StorageProvider>
  /** Opens a configuration that is not in use (yet), with the tokens of `record`, and closes it again after `use`. */
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
  forget(providerId: string): Promise<void>
  /** Closes what was opened; nothing follows. */
  close(): Promise<void>
}

export interface StorageOptions {
  db: Database
  secrets: Secrets
  adapters: AdapterRegistry
  warn: (message: string, details?: Record<string, unknown>) => void
}

interface Opened {
  version: number
  provider: Promise<OpenedProvider>
}

/** Milliseconds that calls under way may go on with a configuration that has changed. */
const closeDelay = 60_000

export function createStorage({ db, secrets, adapters, warn }: StorageOptions): Storage {
  const opened = new Map<string, Opened>()
  const tokens = createTokenStore({ db, secrets })
  const find = batched(async (ids: readonly string[]) => {
    return new Map((await findProviders(db, ids)).map(record => [record.id, record]))
  })

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
      const secret = record.sealedSecrets ? JSON.parse(secrets.open(record.sealedSecrets, record.id)) : {}
      return { ...record.config, ...secret }
    } catch (error) {
      if (!(error instanceof SecretMismatch)) throw error
      throw new AppError('UNAVAILABLE', `${error.message} Set that one, or enter the credentials again.`, {
        cause: error,
      })
    }
  }

  async function openAdapter(adapter: Adapter, settings: Config, host: Host): Promise<StorageProvider> {
    try {
      return await adapter.definition.open(settings, host)
    } catch (error) {
      throw fromAdapter(error)
    }
  }

  /** Without a record there is nothing that anybody could have authorised. */
  function hostFor({ definition }: Adapter, settings: Config, record?: ProviderRecord): Host {
    const { oauth, type } = definition
    return {
      async accessToken(options) {
        if (!oauth || !record) throw new StorageError('NEEDS_RECONNECT', 'Nobody has authorized this provider.')
        try {
          return await tokens.accessToken(record, token => oauth.refresh(settings, token), options)
        } catch (error) {
          if (isStorageError(error) && error.code === 'NEEDS_RECONNECT') await noteNeedsReconnect(record, error.message)
          throw error
        }
      },
      warn: (message, more) => warn(message, { ...more, type, providerId: record?.id }),
    }
  }

  async function noteNeedsReconnect(record: ProviderRecord, statusReason: string): Promise<void> {
    const status = record.status === 'NEEDS_AUTHORIZATION' ? record.status : 'NEEDS_RECONNECT'
    await setProviderStatus(db, record.id, { status, statusReason })
  }

  function open(record: ProviderRecord): Promise<OpenedProvider> {
    const current = opened.get(record.id)
    if (current?.version === record.version) return current.provider
    const provider = Promise.resolve().then(async () => {
      const [adapter, settings] = [adapterOf(record), config(record)]
      const host = hostFor(adapter, settings, record)
      return { id: record.id, provider: await openAdapter(adapter, settings, host), warn: host.warn }
    })
    opened.set(record.id, { version: record.version, provider })
    // A failure is not kept: the next call tries again.
    provider.catch(() => {
      if (opened.get(record.id)?.provider === provider) opened.delete(record.id)
    })
    if (current) setTimeout(() => void closeOne(current), closeDelay).unref()
    return provider
  }

  async function closeOne({ provider }: Opened): Promise<void> {
    try {
      await (await provider).provider.close?.()
    } catch (error) {
      warn('A provider could not be closed.', { err: error })
    }
  }

  async function record(grant: Grant): Promise<ProviderRecord> {
    const found = isId(grant.providerId) ? await find(grant.providerId) : null
    if (found?.workspaceId !== grant.workspaceId) throw new AppError('NOT_FOUND', 'There is no such provider.')
    return found
  }

  return {
    adapters,
    record,
    config,
    readAt: async grant => new ReadLocation(await open(await record(grant)), grant.path),
    writeAt: async grant => new WriteLocation(await open(await record(grant)), grant.path),
    provider: async record => (await open(record)).provider,
    tokens,
    async tryOut(adapter, settings, use, record) {
      const provider = await openAdapter(adapter, settings, hostFor(adapter, settings, record))
      try {
        return await use(provider)
      } catch (error) {
        throw fromAdapter(error)
      } finally {
        await provider.close?.()
      }
    },
    async forget(providerId) {
      const gone = opened.get(providerId)
      opened.delete(providerId)
      if (gone) await closeOne(gone)
    },
    async close() {
      const all = [...opened.values()]
      opened.clear()
      await Promise.all(all.map(closeOne))
    },
  }
}
