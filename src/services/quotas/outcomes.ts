/**
 * Looks at the back end for how changes ended whose server was killed, whose back end did not say, or that met others. All changes that
 * meet one have ended before.
 */
import { isWithin, nameOf, type StoragePath, trashFolder } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import { findProviders, type ProviderRecord } from '../../db/providers.ts'
import {
  claimQuotaChange,
  type DoubtfulChange,
  dropQuotaChange,
  endQuotaMove,
  endQuotaRemoval,
  endQuotaWrites,
  isAnyQuotaChangeDue,
} from '../../db/quotas/changes.ts'
import { requestCount } from '../../db/quotas/counts.ts'
import { type Polling, startClaiming } from '../../lib/polling.ts'
import type { Storage } from '../../storage/index.ts'
import { statOrNull } from '../files/conflict.ts'

/** Milliseconds between two searches. */
const pollInterval = 5000
/** Milliseconds for one look. */
const lookTimeout = 30_000
/** Milliseconds after which a count has to find out what a back end never told. */
const longestWait = 24 * 60 * 60 * 1000
const changesAtOnce = 4
const isLook = { isLook: true }

/** The entry at a path; null if nothing is there. The size of a file in the trash of a back end is unknown. */
type Seen = { kind: 'file' | 'directory'; size: number | null } | null

export function startOutcomes(options: {
  db: Database
  storage: Storage
  /** Called when a provider has to be counted again. */
  onCount: () => void
  onError: (error: unknown) => void
}): Polling {
  const { db, storage, onCount, onError } = options

  async function look(provider: ProviderRecord, path: StoragePath, signal: AbortSignal): Promise<Seen> {
    if (isWithin(path, trashFolder) && (await storage.trashTraits(provider)).isNative) {
      const item = { id: nameOf(path), nativeId: nameOf(path) }
      const isThere = await (await storage.trash(provider)).has(item, signal)
      if (isThere) return { kind: 'directory', size: null }
    }
    return statOrNull((await storage.reader(provider)).at(path), signal)
  }

  async function count(change: DoubtfulChange): Promise<void> {
    await requestCount(db, change.providerId)
    await dropQuotaChange(db, change.id)
    onCount()
  }

  async function settle(change: DoubtfulChange, stop: AbortSignal): Promise<void> {
    const { id, from, isTree } = change
    const [provider] = await findProviders(db, [change.providerId])
    if (!provider) return dropQuotaChange(db, id)
    const signal = AbortSignal.any([stop, AbortSignal.timeout(lookTimeout)])
    const there = await look(provider, change.path, signal)
    if (from !== undefined) {
      const isLeft = (await look(provider, from, signal)) !== null
      // A folder moves as a whole or not at all.
      if (isLeft && isTree) return dropQuotaChange(db, id)
      if (!isLeft && there) return void (await endQuotaMove(db, { ...change, size: sizeOf(there) }, isLook))
      if (!isLeft) return void (await endQuotaRemoval(db, change, isLook))
    }
    if (there?.kind === 'file') await endQuotaWrites(db, [{ ...change, size: there.size ?? 0 }], isLook)
    else if (!there) await endQuotaRemoval(db, { ...change, from: undefined }, isLook)
    // Only a count finds out what is left of a folder.
    else if (isTree) await count(change)
    else await dropQuotaChange(db, id)
  }

  return startClaiming({
    interval: pollInterval,
    atOnce: changesAtOnce,
    isAnyDue: () => isAnyQuotaChangeDue(db),
    claim: () => claimQuotaChange(db),
    async work(change, signal) {
      try {
        await settle(change, signal)
      } catch (error) {
        if (!signal.aborted && Date.now() - change.begunAt.getTime() > longestWait) await count(change)
        throw error
      }
    },
    onError,
  })
}

function sizeOf(seen: NonNullable<Seen>): number | null {
  return seen.kind === 'file' ? (seen.size ?? 0) : null
}
