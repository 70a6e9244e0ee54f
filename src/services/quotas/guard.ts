/**
 * Reserves space before bytes are stored, and counts what is stored, whichever endpoint or job makes the change. A change has a row in the
 * database while it runs. If this process is killed, `outcomes.ts` looks at the back end for how the change ended.
 */
import { randomUUID } from 'node:crypto'
import { isWithin, type StoragePath, trashFolder } from '../../auth/path.ts'
import type { Grant } from '../../auth/policy.ts'
import type { Database } from '../../db/client.ts'
import { batched } from '../../db/lookups.ts'
import {
  abandonQuotaChange,
  dropQuotaChange,
  endQuotaMove,
  endQuotaRemoval,
  endQuotaWrites,
  noteQuotaChange,
  type QuotaRefusal,
  type QuotaRequest,
  type QuotaTarget,
  renewQuotaChanges,
  reserveQuota,
  type StoredFile,
  sumQuotaFiles,
} from '../../db/quotas/changes.ts'
import { findQuotaFlag } from '../../db/quotas/rules.ts'
import { AppError } from '../../errors.ts'
import { LeaseKeeper } from '../../lib/lease-keeper.ts'
import type { QuotaGuard } from '../../storage/quota-guard.ts'
import type { RightsMemory } from '../people/rights-memory.ts'
import { quotaExceeded } from './refusal.ts'

/** Milliseconds between two renewals of the leases of running changes: a third of a lease. */
const heartbeat = 10_000
const nothing = { bytes: 0, files: 0 }

export type QuotaKeeper = ReturnType<typeof createQuotaKeeper>

export function createQuotaKeeper(options: { db: Database; memory: RightsMemory; onError: (error: unknown) => void }) {
  const { db, memory, onError } = options
  const holder = randomUUID()
  const remembered = memory.remembering('quotas', (providerId: string) => findQuotaFlag(db, providerId))
  const running = new Set<string>()
  let keeper: LeaseKeeper | null = null
  /** Called when a change has ended with an unknown outcome. */
  let onAbandoned = () => {}

  // Requests share statements, because all of them change the same rows.
  const inTurn = { isInTurn: true }
  const reserveAll = batched(async (requests: readonly QuotaRequest[]) => {
    const refused = await reserveQuota(db, holder, requests)
    return new Map<QuotaRequest, QuotaRefusal[]>(requests.map((request, index) => [request, refused[index] ?? []]))
  }, inTurn)
  const storeAll = batched(async (files: readonly StoredFile[]) => {
    // One statement changes a row once.
    for (const group of distinctPaths(files)) await endQuotaWrites(db, group)
    return new Map<StoredFile, true>()
  }, inTurn)

  async function applies(providerId: string): Promise<boolean> {
    return (await remembered(providerId))?.hasQuotas === true
  }

  /** @throws QUOTA_EXCEEDED */
  async function reserve(grant: Grant, request: QuotaRequest): Promise<void> {
    const refusals = (await reserveAll(request)) ?? []
    if (refusals.length > 0) throw await quotaExceeded(db, grant, refusals)
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

  /** Ends a change that failed. The reservation of an upload lasts as long as the upload. */
  async function fail(id: string, error: unknown): Promise<void> {
    // An error that the client can avoid means that nothing has changed.
    const isKnown = error instanceof AppError && error.code !== 'INTERNAL_SERVER_ERROR'
    await (isKnown ? dropQuotaChange(db, id) : abandonQuotaChange(db, id)).catch(onError)
    if (!isKnown) onAbandoned()
  }

  /** Reports an error of the statement that ends a change. The row of the change then stays, and a server looks at the back end later. */
  const settled = (work: Promise<unknown>) => work.catch(onError)

  const write: QuotaGuard['write'] = async (grant, path, { size, uploadId }, work) => {
    const target = targetOf(grant, path)
    const userId = grant.viewer.member.userId
    const id = uploadId ?? randomUUID()
    if (!(await applies(grant.providerId))) {
      const stored = await work(null)
      // A quota that was created meanwhile counts the file, too.
      if (stored && (await applies(grant.providerId))) {
        await settled(storeAll({ ...target, changeId: id, userId, size: stored.size ?? 0 }))
      }
      return stored
    }
    // What goes to the trash is somewhere else until it is there.
    const isKept = isInTrash(path)
    const request = { ...target, id, userId, uploadId, adds: false, files: isKept ? 0 : 1 }
    await reserve(grant, { ...request, bytes: isKept ? 0 : (size ?? 0) })
    using _kept = uploadId === undefined ? keep(id) : null
    try {
      const isOpen = size === undefined && !isKept
      const stored = await work(isOpen ? bytes => reserve(grant, { ...request, bytes }) : null)
      if (stored) await settled(storeAll({ ...target, changeId: id, userId, size: stored.size ?? size ?? 0 }))
      else if (uploadId === undefined) await settled(dropQuotaChange(db, id))
      return stored
    } catch (error) {
      if (uploadId === undefined) await fail(id, error)
      throw error
    }
  }

  const remove: QuotaGuard['remove'] = async (grant, path, isTree, work) => {
    if (!(await applies(grant.providerId))) return work()
    const target = targetOf(grant, path)
    const id = randomUUID()
    await noteQuotaChange(db, holder, { ...target, id, userId: grant.viewer.member.userId, isTree })
    using _kept = keep(id)
    try {
      const result = await work()
      await settled(endQuotaRemoval(db, id, target))
      return result
    } catch (error) {
      if (error instanceof AppError && error.reason === 'NOT_FOUND') await settled(endQuotaRemoval(db, id, target))
      else await fail(id, error)
      throw error
    }
  }

  const move: QuotaGuard['move'] = async (grant, { from, to, size }, work) => {
    if (!(await applies(grant.providerId))) return work()
    const target = targetOf(grant, to)
    const userId = grant.viewer.member.userId
    const id = randomUUID()
    const keepsCharge = isInTrash(to)
    const known = keepsCharge ? nothing : await sumQuotaFiles(db, { ...target, path: from })
    const isUnknownFile = known.files === 0 && size != null
    // Versions of replaced files are not counted, so one that returns is stored like a new file.
    if (isUnknownFile && !keepsCharge && isInTrash(from)) return write(grant, to, { size }, work)
    // What comes from the trash counts already.
    const isFree = keepsCharge || isInTrash(from)
    const needed = isUnknownFile ? { bytes: size, files: 1 } : isFree ? nothing : known
    if (needed.files > 0) await reserve(grant, { ...target, id, userId, from, adds: false, ...needed })
    else await noteQuotaChange(db, holder, { ...target, id, userId, isTree: true })
    using _kept = keep(id)
    try {
      const moved = await work()
      if (moved) {
        const bytes = moved.kind === 'file' ? (moved.size ?? size ?? 0) : null
        await settled(endQuotaMove(db, id, target, { from, keepsCharge, size: bytes }))
      } else await settled(dropQuotaChange(db, id))
      return moved
    } catch (error) {
      await fail(id, error)
      throw error
    }
  }

  const guard: QuotaGuard = {
    applies,
    write,
    remove,
    move,
    async keep(grant, from, to, work) {
      const kept: { result?: Awaited<ReturnType<typeof work>> } = {}
      await move(grant, { from, to, size: undefined }, async () => {
        kept.result = await work()
        return { kind: 'directory' as const, size: null }
      })
      return kept.result as Awaited<ReturnType<typeof work>>
    },
    async reserve(grant, path, { uploadId, bytes, adds }) {
      if (!(await applies(grant.providerId))) return
      const userId = grant.viewer.member.userId
      await reserve(grant, { ...targetOf(grant, path), id: uploadId, userId, bytes, adds, files: 1, uploadId })
    },
  }

  return {
    guard,
    /** @param found called when a change has ended with an unknown outcome */
    onUnknownOutcome(found: () => void): void {
      onAbandoned = found
    },
  }
}

function targetOf({ providerId, viewer }: Grant, path: StoragePath): QuotaTarget {
  return { providerId, workspaceId: viewer.member.workspaceId, path }
}

function isInTrash(path: StoragePath): boolean {
  return isWithin(path, trashFolder)
}

/** Splits files into groups of different paths, each file in a later group than an earlier one of its path. */
function distinctPaths(files: readonly StoredFile[]): StoredFile[][] {
  const groups: StoredFile[][] = []
  const counts = new Map<string, number>()
  for (const file of files) {
    const key = `${file.providerId}/${file.path}`
    const count = counts.get(key) ?? 0
    counts.set(key, count + 1)
    groups[count] = [...(groups[count] ?? []), file]
  }
  return groups
}
