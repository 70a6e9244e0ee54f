/**
 * Reserves space before bytes are stored, and counts what is stored, whichever endpoint or job makes the change. A change has a row in the
 * database while it runs. `outcomes.ts` looks at the back end for how a change ended if this process is killed, if the back end does not
 * say, or if other changes of the same path ran meanwhile.
 */
import { randomUUID } from 'node:crypto'
import { isWithin, type StoragePath, trashFolder } from '../../auth/path.ts'
import type { Grant } from '../../auth/policy.ts'
import type { Database } from '../../db/client.ts'
import { batched } from '../../db/lookups.ts'
import {
  abandonQuotaChange,
  doubtQuotaChange,
  dropQuotaChange,
  endQuotaMove,
  endQuotaRemoval,
  endQuotaWrites,
  noteQuotaChange,
  type QuotaAnswer,
  type QuotaChange,
  type QuotaEnd,
  type QuotaRequest,
  renewQuotaChanges,
  reserveQuota,
} from '../../db/quotas/changes.ts'
import { findQuotaFlag } from '../../db/quotas/rules.ts'
import { AppError } from '../../errors.ts'
import { LeaseKeeper } from '../../lib/lease-keeper.ts'
import { isStorageError } from '../../storage/adapter-call.ts'
import type { BodyMeter, QuotaGuard } from '../../storage/quota-guard.ts'
import type { RightsMemory } from '../people/rights-memory.ts'
import { quotaExceeded } from './refusal.ts'

/** Milliseconds between two renewals of the leases of running changes: much less than a lease. */
const heartbeat = 10_000

export type QuotaKeeper = ReturnType<typeof createQuotaKeeper>

export function createQuotaKeeper(options: { db: Database; memory: RightsMemory; onError: (error: unknown) => void }) {
  const { db, memory, onError } = options
  const holder = randomUUID()
  const remembered = memory.remembering('quotas', (providerId: string) => findQuotaFlag(db, providerId))
  const running = new Set<string>()
  let keeper: LeaseKeeper | null = null
  /** Called when a server has to look at the back end. */
  let onDoubt = () => {}

  // Requests share statements, because all of them change the same rows.
  const inTurn = { isInTurn: true }
  const reserveAll = batched(async (requests: readonly QuotaRequest[]) => {
    const answers = await reserveQuota(db, holder, requests)
    return new Map<QuotaRequest, QuotaAnswer | undefined>(requests.map((request, index) => [request, answers[index]]))
  }, inTurn)
  const storeAll = batched(async (ends: readonly QuotaEnd[]) => {
    const ended = await endQuotaWrites(db, ends)
    return new Map(ends.map(end => [end, ended.has(end.id)]))
  }, inTurn)

  async function applies(providerId: string): Promise<boolean> {
    return (await remembered(providerId))?.hasQuotas === true
  }

  /** Returns whether less was reserved because a file is replaced. @throws QUOTA_EXCEEDED */
  async function reserve(grant: Grant, request: QuotaRequest): Promise<boolean> {
    const answer = await reserveAll(request)
    if (answer && answer.refusals.length > 0) throw await quotaExceeded(db, grant, answer.refusals)
    return answer?.hasCredit === true
  }

  function keep(id: string): Disposable {
    running.add(id)
    keeper ??= new LeaseKeeper({ interval: heartbeat, renew: () => renewQuotaChanges(db, holder, running), onError })
    return {
      [Symbol.dispose]() {
        running.delete(id)
        if (running.size > 0) return
        keeper?.[Symbol.dispose]()
        keeper = null
      },
    }
  }

  /** Ends a change that failed. */
  async function fail({ id, isTree }: QuotaChange, error: unknown): Promise<void> {
    // A change that the back end itself refuses has changed nothing, unless it has deleted a part of a folder.
    const isRefused = error instanceof AppError && error.code !== 'INTERNAL_SERVER_ERROR' && isStorageError(error.cause)
    const hasChangedNothing = isRefused && !isTree
    await (hasChangedNothing ? dropQuotaChange(db, id) : abandonQuotaChange(db, id)).catch(onError)
    if (!hasChangedNothing) onDoubt()
  }

  /** Waits for the statement that ends a change. If it fails, the row of the change stays, and a server looks at the back end later. */
  async function settled(hasEnded: Promise<boolean | null>): Promise<void> {
    if ((await hasEnded.catch(onError)) === false) onDoubt()
  }

  /** Counts what a change has done that began before a quota applied. */
  async function settleLate(change: QuotaChange): Promise<void> {
    if (!(await applies(change.providerId))) return
    await doubtQuotaChange(db, change).catch(onError)
    onDoubt()
  }

  const write: QuotaGuard['write'] = async (grant, path, { size, uploadId, keepsReplaced, hasBody }, work) => {
    const change = changeOf(grant, path, { id: uploadId ?? randomUUID(), isTree: false })
    if (!(await applies(grant.providerId))) {
      const stored = await work(null)
      if (stored) await settleLate({ ...change, id: randomUUID() })
      return stored
    }
    const request = { ...change, uploadId, adds: false, files: 1, keepsReplaced, isFinal: !hasBody, isRunning: true }
    let hasCredit = await reserve(grant, { ...request, bytes: size ?? 0 })
    const reservedAt = performance.now()
    let mayBeStored = !hasBody
    const reach = async (bytes: number) => {
      if (await reserve(grant, { ...request, bytes })) hasCredit = true
    }
    const meter: BodyMeter = {
      reach: size === undefined ? reach : null,
      async confirm(total) {
        // A process that was paused may have lost what it had reserved.
        const isLate = performance.now() - reservedAt > heartbeat
        if (hasCredit || isLate) await reserve(grant, { ...request, bytes: total, isFinal: true })
        mayBeStored = true
      },
    }
    using _kept = keep(change.id)
    try {
      const stored = await work(meter)
      if (stored) await settled(storeAll({ ...change, size: stored.size ?? size ?? 0 }))
      else await dropQuotaChange(db, change.id).catch(onError)
      return stored
    } catch (error) {
      // The back end has not had the last bytes.
      if (!mayBeStored) await dropQuotaChange(db, change.id).catch(onError)
      else await fail(change, error)
      throw error
    }
  }

  const remove: QuotaGuard['remove'] = async (grant, path, isTree, work) => {
    const change = changeOf(grant, path, { isTree })
    if (!(await applies(grant.providerId))) {
      const result = await work()
      await settleLate(change)
      return result
    }
    await noteQuotaChange(db, holder, change)
    using _kept = keep(change.id)
    try {
      const result = await work()
      await settled(endQuotaRemoval(db, change))
      return result
    } catch (error) {
      if (error instanceof AppError && error.reason === 'NOT_FOUND') await settled(endQuotaRemoval(db, change))
      else await fail(change, error)
      throw error
    }
  }

  const move: QuotaGuard['move'] = async (grant, { from, to, size, keepsReplaced }, work) => {
    const change = { ...changeOf(grant, to, { isTree: size == null }), from }
    if (!(await applies(grant.providerId))) {
      const moved = await work()
      if (moved) await settleLate(change)
      return moved
    }
    // A file that nobody has counted needs space, unless it goes to the trash.
    const [bytes, files] = size == null || isWithin(to, trashFolder) ? [0, 0] : [size, 1]
    await reserve(grant, { ...change, bytes, files, adds: false, keepsReplaced, isFinal: true, isRunning: true })
    using _kept = keep(change.id)
    try {
      const moved = await work()
      if (moved) {
        await settled(endQuotaMove(db, { ...change, size: moved.kind === 'file' ? (moved.size ?? size ?? 0) : null }))
      } else await dropQuotaChange(db, change.id).catch(onError)
      return moved
    } catch (error) {
      await fail({ ...change, isTree: false }, error)
      throw error
    }
  }

  const guard: QuotaGuard = {
    applies,
    write,
    remove,
    move,
    async reserve(grant, path, { uploadId, ...reservation }) {
      if (!(await applies(grant.providerId))) return
      const change = changeOf(grant, path, { id: uploadId, isTree: false })
      await reserve(grant, { ...change, ...reservation, uploadId, files: 1, isFinal: false, isRunning: false })
    },
  }

  return {
    guard,
    /** @param found called when a server has to look at the back end */
    onDoubtfulChange(found: () => void): void {
      onDoubt = found
    },
  }
}

function changeOf(
  { providerId, viewer }: Grant,
  path: StoragePath,
  { id = randomUUID(), isTree }: { id?: string; isTree: boolean },
): QuotaChange {
  const { workspaceId, userId } = viewer.member
  return { id, providerId, workspaceId, userId, path, isTree }
}
