/** Finds out how changes ended whose server was killed, or whose back end did not say: by a look at the back end. */
import { isWithin, trashFolder } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import { findProviders } from '../../db/providers.ts'
import {
  claimQuotaChange,
  dropQuotaChange,
  endObserved,
  endQuotaRemoval,
  isAnyQuotaChangeDue,
  type PlainQuotaChange,
} from '../../db/quotas/changes.ts'
import { requestCount } from '../../db/quotas/counts.ts'
import { AppError } from '../../errors.ts'
import { type Polling, startClaiming } from '../../lib/polling.ts'
import type { Storage } from '../../storage/index.ts'

/** Milliseconds between two searches. */
const pollInterval = 5000
/** Milliseconds for one look. */
const lookTimeout = 30_000
const changesAtOnce = 4

export function startOutcomes(options: {
  db: Database
  storage: Storage
  /** Called when a provider has to be counted again. */
  onCount: () => void
  onError: (error: unknown) => void
}): Polling {
  const { db, storage, onCount, onError } = options

  async function find(change: PlainQuotaChange, signal: AbortSignal): Promise<void> {
    const { id, providerId, path, isTree } = change
    // Only a count knows what is below a folder, or in the trash.
    if (isTree || isWithin(path, trashFolder)) {
      await requestCount(db, providerId)
      await dropQuotaChange(db, id)
      return onCount()
    }
    const [provider] = await findProviders(db, [providerId])
    if (!provider) return dropQuotaChange(db, id)
    const reader = await storage.reader(provider)
    try {
      const entry = await reader.stat(path, AbortSignal.any([signal, AbortSignal.timeout(lookTimeout)]))
      if (entry.kind === 'file') await endObserved(db, change, entry.size ?? 0)
      else await dropQuotaChange(db, id)
    } catch (error) {
      if (!(error instanceof AppError) || error.reason !== 'NOT_FOUND') throw error
      await endQuotaRemoval(db, id, change)
    }
  }

  return startClaiming({
    interval: pollInterval,
    atOnce: changesAtOnce,
    isAnyDue: () => isAnyQuotaChangeDue(db),
    claim: () => claimQuotaChange(db),
    work: find,
    onError,
  })
}
