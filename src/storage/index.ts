/** The storage: turns grants into locations, and tests configurations that are not stored yet. */
import type { Call, Network, StorageProvider } from '../../adapters/contract.ts'
import type { Grant } from '../auth/policy.ts'
import { SecretMismatch, type Secrets } from '../auth/secrets.ts'
import { recentlySeen } from '../auth/viewer.ts'
import type { Database } from '../db/client.ts'
import type { ProviderRecord } from '../db/providers.ts'
import { AppError } from '../errors.ts'
import type { ActiveGrants } from './active-grants.ts'
import type { Config } from './config.ts'
import { createContentTracker } from './content-tracker.ts'
import type { Encryption, EncryptionSecrets } from './encryption/index.ts'
import { isClosedAddress } from './network/index.ts'
import { createProviderOpener, type OpenedProvider } from './open-provider.ts'
import { createProviderCache, type FindRecord } from './provider-cache.ts'
import { ProviderReader } from './provider-reader.ts'
import type { QuotaGuard } from './quota-guard.ts'
import { type ChangeGuard, type ProviderContext, ReadLocation } from './read-location.ts'
import type { Adapter, AdapterRegistry } from './registry.ts'
import { createStatusReports } from './status-reports.ts'
import { createTokenStore, RedactedSecrets, type Redactor, type TokenStore } from './tokens.ts'
import { ProviderTrash, type TrashTraits, trashTraits } from './trash.ts'
import { createVersionStore, type UsualVersions, type VersionTraits } from './versions.ts'
import { WriteLocation } from './write-location.ts'
import { createWriteTracker } from './write-tracker.ts'

export interface TryOutOptions {
  /** The provider whose tokens are used. */
  record?: ProviderRecord | undefined
  encryption: Encryption | null
  /** Whether the provider is new, so that the encryption must decrypt what is there. */
  isNew?: boolean
  /** The access token to use instead of the stored tokens of the provider. */
  accessToken?: string
}

export interface Storage {
  readonly adapters: AdapterRegistry
  /** The work that runs in locations. */
  readonly activeGrants: ActiveGrants
  /** The network for OAuth flows, which run before a provider is opened. */
  readonly network: Network
  /** The record behind a grant. @throws NOT_FOUND */
  readonly record: FindRecord
  /** @throws NOT_FOUND, INVALID_CONFIG, UNAVAILABLE */
  readAt(grant: Grant): Promise<ReadLocation>
  /** @throws as `readAt` */
  writeAt(grant: Grant<'write'>): Promise<WriteLocation>
  /** Opens the provider for calls that concern no path, such as `quota`. @throws as `readAt` */
  provider(record: ProviderRecord): Promise<StorageProvider>
  /** The entries of a provider, for the server itself. @throws as `readAt` */
  reader(record: ProviderRecord): Promise<ProviderReader>
  /** Returns the milliseconds since a request of somebody, or a job, last opened a location of a provider in this process. */
  idleTime(providerId: string): number
  /** The trash of a provider, for the server itself. @throws as `readAt` */
  trash(record: ProviderRecord): Promise<ProviderTrash>
  /** @throws as `readAt` */
  versionTraits(record: ProviderRecord): Promise<VersionTraits>
  /** @throws as `readAt` */
  trashTraits(record: ProviderRecord): Promise<TrashTraits>
  /** Calls a provider for something other than content. @throws UNAVAILABLE after the metadata timeout; BACK_END_FAULT and others */
  ask<T>(signal: AbortSignal | null, call: (call: Call) => Promise<T>): Promise<T>
  /** Opens a configuration that is not in use, and closes it after `use`. `use` calls the provider only through `ask`. */
  tryOut<T>(
    adapter: Adapter,
    config: Config,
    use: (provider: StorageProvider) => Promise<T>,
    options: TryOutOptions,
  ): Promise<T>
  readonly tokens: TokenStore
  /** Returns the configuration with its secrets. @throws UNAVAILABLE if they were encrypted with another server secret */
  config(record: ProviderRecord): Config
  /** Returns how the provider is encrypted, with the secrets; null if it is not. @throws as `config` */
  encryption(record: ProviderRecord): Encryption | null
  /** Closes a disconnected provider after an hour, because transfers may still use it. */
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
  changes: ChangeGuard
  quotas: QuotaGuard
  /** Redacts each secret from the log while an adapter has it. */
  redaction: Redactor
  warn: (message: string, details?: Record<string, unknown>) => void
  /** Returns the provider with its calls measured. Default: nothing is measured. */
  observe?: ((provider: StorageProvider, labels: { id: string; type: string }) => StorageProvider) | undefined
  /** Days that deleted entries stay in the trash of a provider that sets no other number. Default: none. */
  trashDays?: number | undefined
  /** How many versions a provider keeps that sets no other number, where that takes no copy. Default: none. */
  usualVersions?: UsualVersions | undefined
  /** Milliseconds for a call that moves no file content, including `open` and `close`. Default: a minute. */
  metadataTimeout?: number | undefined
  /** Milliseconds without progress of a transfer at the back end. Default: five minutes. */
  transferTimeout?: number | undefined
}

/** A step whose progress is invisible may take longer by this factor: an hour by default, for a copy of terabytes. */
const stepsPerTransfer = 12

export function createStorage(options: StorageOptions): Storage {
  const { db, secrets, adapters, network, record, activeGrants, changes, quotas, redaction, warn } = options
  const { metadataTimeout = 60_000, transferTimeout = 300_000, observe = provider => provider, trashDays = 0 } = options
  const timeouts = { transfer: transferTimeout, step: stepsPerTransfer * transferTimeout }
  const tokens = createTokenStore({ db, secrets, redaction })
  /** The secrets of each provider as last read, for services too. */
  const redacted = new RedactedSecrets(redaction)
  const writeTracker = createWriteTracker({ db, secrets })
  const contents = createContentTracker({ db, onError: err => warn('Checksums could not be stored.', { err }) })
  const statusReports = createStatusReports({ db, onError: err => warn('A status could not be stored.', { err }) })
  const opener = createProviderOpener({ db, network, tokens, warn, metadataTimeout })
  const versions = createVersionStore({
    db,
    exclusively: opener.exclusively,
    usual: options.usualVersions ?? { count: 0, days: 1 },
    onError: err => warn('A version of a file could not be listed: a server does that later.', { err }),
  })
  const cache = createProviderCache<ProviderContext & Pick<OpenedProvider, 'close'>>({
    async open(record, resources) {
      const opened = await openStored(record, resources).catch(cause => {
        statusReports.reportFailure(record, cause)
        throw withoutDetails(cause)
      })
      const provider = observe(opened.provider, record)
      const guards = { activeGrants, changes, quotas, writeTracker, contents, versions }
      return { id: record.id, ...opened, provider, metadataTimeout, timeouts, ...guards }
    },
    close: ({ close }) => close(),
  })

  async function openStored(record: ProviderRecord, resources: DisposableStack): Promise<OpenedProvider> {
    const [adapter, settings] = [adapterOf(record), config(record)]
    const encrypted = encryption(record)
    resources.use(redaction.hold(...Object.values(adapter.rules.split(settings).secret), ...secretsOf(encrypted)))
    const follow = (provider: StorageProvider) => statusReports.followed(provider, record)
    return await opener.open(adapter, settings, { record, encryption: encrypted, follow })
  }

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
    const secret = unsealed<Config>('provider', record.id, record.sealedSecrets) ?? {}
    redacted.put(record.id, ...Object.values(secret))
    return { ...record.config, ...secret }
  }

  function encryption({ id, encryption, sealedEncryption }: ProviderRecord): Encryption | null {
    const secret = unsealed<EncryptionSecrets & Config>('encryption', id, sealedEncryption)
    if (!encryption || !secret) return null
    redacted.put(encryptionOf(id), ...Object.values(secret))
    return { ...encryption, ...secret }
  }

  /** @throws UNAVAILABLE */
  function unsealed<T extends Config>(kind: 'provider' | 'encryption', id: string, sealed: Buffer | null): T | null {
    try {
      return sealed && JSON.parse(secrets.open(kind, id, sealed))
    } catch (error) {
      if (!(error instanceof SecretMismatch)) throw error
      throw new AppError('UNAVAILABLE', `${error.message} Set that secret, or enter the credentials again.`, {
        cause: error,
      })
    }
  }

  /**
   * Opens the provider of a grant. It reads the current record from the database, unless the check of the
   * credential has read the version and is still valid.
   */
  async function contextOf(grant: Grant): Promise<ProviderContext> {
    const seen = recentlySeen(grant.viewer, grant.providerId)
    return await ((seen && cache.find(seen)) ?? cache.get(await record(grant)))
  }

  /** When a location of each provider was last opened, as of `performance.now()`. */
  const usedAt = new Map<string, number>()

  return {
    adapters,
    activeGrants,
    network,
    record,
    config,
    encryption,
    tokens,
    async readAt(grant) {
      usedAt.set(grant.providerId, performance.now())
      await activeGrants.confirm([grant])
      return new ReadLocation(await contextOf(grant), grant)
    },
    async writeAt(grant) {
      usedAt.set(grant.providerId, performance.now())
      await activeGrants.confirm([grant])
      return new WriteLocation(await contextOf(grant), grant)
    },
    provider: async record => (await cache.get(record)).provider,
    reader: async record => new ProviderReader(await cache.get(record)),
    idleTime: providerId => performance.now() - (usedAt.get(providerId) ?? Number.NEGATIVE_INFINITY),
    trash: async record => new ProviderTrash(await cache.get(record)),
    trashTraits: async record =>
      trashTraits((await cache.get(record)).provider, { own: record.trashDays, usual: trashDays }),
    versionTraits: async record => versions.traitsOf((await cache.get(record)).provider, record),
    ask: (signal, call) => opener.ask(signal, call),
    async tryOut(adapter, settings, use, { record = null, encryption, isNew, accessToken }) {
      const inConfig = Object.values(adapter.rules.split(settings).secret)
      using _redaction = redaction.hold(...inConfig, ...secretsOf(encryption), ...(accessToken ? [accessToken] : []))
      try {
        const { provider, close } = await opener.open(adapter, settings, { record, encryption, isNew, accessToken })
        try {
          return await use(provider)
        } finally {
          await close()
        }
      } catch (error) {
        throw isClosedAddress(error) ? closedAddress(error) : error
      }
    },
    forget(providerId) {
      cache.forget(providerId)
      usedAt.delete(providerId)
      statusReports.forget(providerId)
      redacted.release(providerId)
      redacted.release(encryptionOf(providerId))
      tokens.forget(providerId)
    },
    async close() {
      await contents.close()
      await cache.close()
      await statusReports.close()
    },
  }
}

const encryptionOf = (providerId: string) => `${providerId}/encryption`

function secretsOf(encryption: Encryption | null): string[] {
  return encryption ? [encryption.password, encryption.salt] : []
}

/** The message for administrators, who can fix the configuration. `fromAdapter` has the message for others. */
function closedAddress(cause: unknown): AppError {
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
