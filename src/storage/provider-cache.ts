/** Finds the records of providers, and keeps each provider open, once per version of its configuration. */
import { isId } from '../auth/id.ts'
import type { Grant } from '../auth/policy.ts'
import type { ProviderVersion } from '../auth/viewer.ts'
import type { Database } from '../db/client.ts'
import { batched } from '../db/lookups.ts'
import { type ProviderRecord, prepareProviders } from '../db/providers.ts'
import { AppError } from '../errors.ts'

/** Finds the record behind a grant. @throws NOT_FOUND */
export type FindRecord = (grant: Pick<Grant, 'providerId' | 'workspaceId'>) => Promise<ProviderRecord>

/** Concurrent lookups share one query. */
export function createFindRecord(db: Database): FindRecord {
  const findProviders = prepareProviders(db)
  const find = batched(async (ids: readonly string[]) => {
    return new Map((await findProviders(ids)).map(record => [record.id, record]))
  })
  return async ({ providerId, workspaceId }) => {
    const found = isId(providerId) ? await find(providerId) : null
    if (found?.workspaceId !== workspaceId) throw new AppError('NOT_FOUND', 'There is no such provider.')
    return found
  }
}

/** Milliseconds for which running transfers may use a configuration after it was changed or disconnected. */
const closeDelay = 60 * 60 * 1000

interface ProviderCache<Opened> {
  /** Returns the open provider, or opens it. A failure is not cached: the next call tries again. */
  get(record: ProviderRecord): Promise<Opened>
  /** Returns the provider if it is open in this version. */
  find(version: ProviderVersion): Promise<Opened> | null
  /** Closes a provider after an hour, because transfers may still use it. */
  forget(providerId: string): void
  /** Closes all providers. */
  close(): Promise<void>
}

interface CachedProvider<Opened> {
  version: number
  opened: Promise<Opened>
  /** Resources to dispose of after the provider is closed. */
  resources: DisposableStack
}

/** @param options.open adds to `resources` what the provider needs until it is closed */
export function createProviderCache<Opened>(options: {
  open(record: ProviderRecord, resources: DisposableStack): Promise<Opened>
  close(opened: Opened): Promise<void>
}): ProviderCache<Opened> {
  const cached = new Map<string, CachedProvider<Opened>>()

  function closeLater(removed: CachedProvider<Opened>): void {
    setTimeout(() => void close(removed), closeDelay).unref()
  }

  async function close({ opened, resources }: CachedProvider<Opened>): Promise<void> {
    // A provider that failed to open needs no closing.
    const open = await opened.catch(() => null)
    if (open) await options.close(open)
    resources.dispose()
  }

  return {
    get(record) {
      const current = cached.get(record.id)
      if (current?.version === record.version) return current.opened
      const resources = new DisposableStack()
      const opened = Promise.resolve().then(() => options.open(record, resources))
      cached.set(record.id, { version: record.version, opened, resources })
      opened.catch(() => {
        resources.dispose()
        if (cached.get(record.id)?.opened === opened) cached.delete(record.id)
      })
      if (current) closeLater(current)
      return opened
    },
    find({ id, version }) {
      const current = cached.get(id)
      return current?.version === version ? current.opened : null
    },
    forget(providerId) {
      const removed = cached.get(providerId)
      cached.delete(providerId)
      if (removed) closeLater(removed)
    },
    async close() {
      const all = [...cached.values()]
      cached.clear()
      await Promise.all(all.map(close))
    },
  }
}
