/** Opens a back end through its adapter, and gives the adapter its tokens, its locks and its network. */
import type { Call, Host, Network, StorageProvider } from '../../adapters/contract.ts'
import { StorageError } from '../../adapters/contract.ts'
import { createPool } from '../../adapters/pool.ts'
import type { Database } from '../db/client.ts'
import { type ProviderRecord, setProviderStatus } from '../db/providers.ts'
import { toAppError } from '../errors.ts'
import { callAdapter, isStorageError } from './adapter-call.ts'
import type { Config } from './config.ts'
import type { Encryption } from './encryption/index.ts'
import { checkProvider, withHostRules } from './host-rules.ts'
import { createLocks, type Locks } from './locks.ts'
import type { Adapter } from './registry.ts'
import type { TokenStore } from './tokens.ts'

export interface OpenedProvider {
  provider: StorageProvider
  /** Logs a warning with the type and the id of the provider. */
  warn: Host['warn']
  /** Logs a failure instead of throwing it. */
  close(): Promise<void>
}

export interface ProviderOpener {
  /**
   * @param options.record null for a provider that is not stored yet, so has no tokens
   * @param options.encryption null if nothing is encrypted
   * @param options.isNew the encryption must decrypt what is there
   * @param options.accessToken replaces the stored tokens of the record
   * @param options.follow receives the provider of the adapter, and returns it with its calls followed
   */
  open(
    adapter: Adapter,
    config: Config,
    options: {
      record: ProviderRecord | null
      encryption: Encryption | null
      isNew?: boolean | undefined
      accessToken?: string | undefined
      follow?: (provider: StorageProvider) => StorageProvider
    },
  ): Promise<OpenedProvider>
  /** Calls a provider for something other than content. @throws UNAVAILABLE after the metadata timeout; BACK_END_FAULT and others */
  ask<T>(signal: AbortSignal | null, call: (call: Call) => Promise<T>, discard?: (late: T) => unknown): Promise<T>
  /** The locks that adapters get. */
  readonly exclusively: Locks['exclusively']
}

export function createProviderOpener(options: {
  db: Database
  network: Network
  tokens: TokenStore
  warn: (message: string, details?: Record<string, unknown>) => void
  /** Milliseconds. */
  metadataTimeout: number
}): ProviderOpener {
  const { db, network, tokens, warn, metadataTimeout } = options
  const { exclusively } = createLocks(db)

  function ask<T>(
    signal: AbortSignal | null,
    call: (call: Call) => Promise<T>,
    discard?: (late: T) => unknown,
  ): Promise<T> {
    const timeout = AbortSignal.timeout(metadataTimeout)
    const bounded = signal ? AbortSignal.any([signal, timeout]) : timeout
    return callAdapter(bounded, () => call({ signal: bounded }), discard)
  }

  function hostFor(
    { definition }: Adapter,
    config: Config,
    {
      record,
      accessToken: given,
      signal,
    }: { record: ProviderRecord | null; accessToken: string | undefined; signal: AbortSignal },
  ): Host {
    const { oauth, type } = definition
    return {
      signal,
      network,
      exclusively,
      pool: createPool,
      async accessToken(options) {
        if (given !== undefined) {
          if (options?.rejected !== given) return given
          throw new StorageError('NEEDS_RECONNECT', 'The storage refuses the consent that somebody has just given.')
        }
        if (!oauth || !record) throw new StorageError('NEEDS_RECONNECT', 'Nobody has authorized this provider.')
        try {
          return await tokens.accessToken(record, token => oauth.refresh(config, token, network), options)
        } catch (error) {
          // Otherwise a failure of the database would count as a fault of the adapter.
          if (!isStorageError(error)) throw toAppError(error)
          if (error.code === 'NEEDS_RECONNECT') await storeNeedsReconnect(record, error.message)
          throw error
        }
      },
      warn: (message, more) => warn(message, { ...more, type, providerId: record?.id }),
    }
  }

  async function storeNeedsReconnect(record: ProviderRecord, statusReason: string): Promise<void> {
    const status = record.status === 'NEEDS_AUTHORIZATION' ? record.status : 'NEEDS_RECONNECT'
    await setProviderStatus(db, record, { status, statusReason })
  }

  async function close(provider: StorageProvider, ending: AbortController): Promise<void> {
    ending.abort(new Error('The provider is closed.'))
    try {
      await ask(null, async () => provider.close?.())
    } catch (error) {
      warn('A provider could not be closed.', { err: error })
    }
  }

  /** Loads the code for encryption when the first provider needs it. @throws INVALID_CONFIG */
  async function decrypting(
    backEnd: StorageProvider,
    encryption: Encryption,
    { warn, isNew }: { warn: Host['warn']; isNew: boolean },
  ): Promise<StorageProvider> {
    const { requireDecryptable, withEncryption } = await import('./encryption/index.ts')
    const provider = await withEncryption(backEnd, encryption, warn)
    if (isNew) await ask(null, call => requireDecryptable(backEnd, provider, call))
    return provider
  }

  return {
    ask,
    exclusively,
    async open(adapter, config, { record, encryption, isNew = false, accessToken, follow = provider => provider }) {
      const ending = new AbortController()
      const host = hostFor(adapter, config, { record, accessToken, signal: ending.signal })
      const open = async () => checkProvider(await adapter.definition.open(config, host))
      try {
        const backEnd = follow(await ask(null, open, late => late.close?.()))
        const plain = encryption ? await decrypting(backEnd, encryption, { warn: host.warn, isNew }) : backEnd
        const provider = withHostRules(plain, host.warn)
        return { provider, warn: host.warn, close: () => close(provider, ending) }
      } catch (error) {
        ending.abort(error)
        throw error
      }
    },
  }
}
