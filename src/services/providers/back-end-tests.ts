/** Tests the back ends of providers, and configurations before they are stored. */
import type { StorageProvider } from '../../../adapters/contract.ts'
import { root } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import type { ProviderRecord } from '../../db/providers.ts'
import { AppError } from '../../errors.ts'
import { fromAdapter } from '../../storage/adapter-call.ts'
import type { Config } from '../../storage/config.ts'
import type { Storage, TryOutOptions } from '../../storage/index.ts'
import type { Adapter } from '../../storage/registry.ts'
import { checkPage } from '../../storage/validate-entry.ts'
import { isCompared, rootIdOf } from './roots.ts'

/** @throws INVALID_INPUT */
export function requireAdapter({ adapters }: Pick<Storage, 'adapters'>, type: string): Adapter {
  const adapter = adapters.find(type)
  if (adapter) return adapter
  const known = adapters.list().map(({ definition }) => definition.type)
  throw new AppError('INVALID_INPUT', `There is no provider type "${type}"; this server has ${known.join(', ')}.`)
}

export function createBackEndTests({ db, storage }: { db: Database; storage: Storage }) {
  /** Checks a back end by listing its root. */
  async function testRoot(provider: StorageProvider): Promise<void> {
    const asked = { cursor: null, limit: 1 }
    await storage.ask(null, async call => checkPage(await provider.list(root, { ...call, limit: 1 }), asked, () => {}))
  }

  /**
   * Tests a back end. If the test fails, for example after its disk was remounted, closes the open provider, so that
   * the next call opens it again.
   */
  async function reopen(record: ProviderRecord): Promise<void> {
    const options = { record, encryption: storage.encryption(record) }
    await storage.tryOut(requireAdapter(storage, record.type), storage.config(record), testRoot, options)
    await storage
      .provider(record)
      .then(testRoot)
      .catch(() => storage.forget(record.id))
  }

  return {
    reopen,

    /** Tests a configuration. Resolves with the id of the root; undefined if there is nothing to compare it with. */
    async tryOut(adapter: Adapter, config: Config, options: TryOutOptions): Promise<string | null | undefined> {
      const needsId = await isCompared(db, adapter.definition.type, options.encryption !== null)
      const test = async (provider: StorageProvider) => {
        await testRoot(provider)
        return needsId ? await rootIdOf(provider, storage) : undefined
      }
      return storage.tryOut(adapter, config, test, options)
    },

    /** Checks a configuration without contacting the back end, which needs consent first. */
    async checkConfig(adapter: Adapter, config: Config): Promise<void> {
      await storage
        .tryOut(adapter, config, async () => {}, { encryption: null })
        .catch(error => {
          if (!(error instanceof AppError) || error.reason !== 'NEEDS_RECONNECT') throw error
        })
    },

    /** Tests a back end, and returns the status that the provider has after that. */
    async statusOf(record: ProviderRecord): Promise<Pick<ProviderRecord, 'status' | 'statusReason'>> {
      try {
        await reopen(record)
        return { status: 'CONNECTED', statusReason: null }
      } catch (thrown) {
        return statusAfter(fromAdapter(thrown), record)
      }
    },
  }
}

function statusAfter(error: unknown, { status }: ProviderRecord): Pick<ProviderRecord, 'status' | 'statusReason'> {
  const { reason, message } = error instanceof AppError ? error : new AppError('INTERNAL', undefined, { cause: error })
  if (reason !== 'NEEDS_RECONNECT') return { status: 'UNAVAILABLE', statusReason: message }
  // Consent that was never given cannot be lost.
  return { status: status === 'NEEDS_AUTHORIZATION' ? status : reason, statusReason: message }
}
