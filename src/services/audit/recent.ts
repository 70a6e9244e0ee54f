/**
 * Remembers which entries were changed through this server a moment ago: back ends report these changes, too, and the catalogue looks at
 * such an entry anyway, after the event is written.
 */
import { parentOf, type StoragePath } from '../../auth/path.ts'
import type { AuditEvent } from '../../db/audit-events.ts'
import type { AuditAction } from '../../db/schema.ts'

/** Milliseconds for which a change is remembered once its event is written. A back end that reports it later is asked once more. */
const kept = 10_000

/** The changes of one entry, and those of everything at and below a path. As in the trigger of audit events. */
const ofEntry: ReadonlySet<AuditAction> = new Set(['UPLOAD', 'FOLDER_CREATE'])
const ofTree: ReadonlySet<AuditAction> = new Set(['RENAME', 'MOVE', 'DELETE', 'RESTORE'])
const ofTarget: ReadonlySet<AuditAction> = new Set(['RENAME', 'MOVE', 'COPY'])

/** The report of a back end. */
export interface ReportedChange {
  providerId: string
  path: StoragePath
  /** Anything below the path may have changed, too. */
  isTree: boolean
  /** As of `performance.now()`. */
  noticedAt: number
}

interface RecentChange {
  isTree: boolean
  /** When the write of its event began, as of `performance.now()`. */
  writtenAt: number
}

/** The maximum number of changes. Without an older one, the search looks at an entry once more. */
const maxChanges = 50_000

export class RecentChanges {
  /** The oldest first. */
  readonly #changes = new Map<string, RecentChange>()

  /** Notes an event that waits to be written. */
  note(event: AuditEvent): void {
    for (const [key, isTree] of changedBy(event)) {
      this.#changes.delete(key)
      this.#changes.set(key, { isTree, writtenAt: Number.POSITIVE_INFINITY })
      const [oldest] = this.#changes.keys()
      if (oldest !== undefined && this.#changes.size > maxChanges) this.#changes.delete(oldest)
    }
  }

  /** Call this before events are written. */
  writing(events: readonly AuditEvent[]): void {
    const now = performance.now()
    for (const event of events) {
      for (const [key] of changedBy(event)) {
        const change = this.#changes.get(key)
        if (change) change.writtenAt = now
      }
    }
    for (const [key, { writtenAt }] of this.#changes) {
      if (writtenAt > now - kept) return
      this.#changes.delete(key)
    }
  }

  /** Returns whether a change came before the event of an own change was written, so that a look at the own change sees both. */
  covers({ providerId, path, isTree, noticedAt }: ReportedChange): boolean {
    for (let each = path; ; each = parentOf(each)) {
      const own = this.#changes.get(keyOf(providerId, `/${each}`))
      if (own && own.writtenAt >= noticedAt && (own.isTree || (each === path && !isTree))) return true
      if (each === '') return false
    }
  }
}

/** Returns the keys of the entries that an event has changed, and whether everything below them has changed, too. */
function changedBy({ action, result, providerId, path, toProviderId, toPath }: AuditEvent): [string, boolean][] {
  if (result !== 'OK') return []
  const keys: [string, boolean][] = []
  const isTree = ofTree.has(action)
  if ((isTree || ofEntry.has(action)) && providerId !== null && path !== null) {
    keys.push([keyOf(providerId, path), isTree])
  }
  if (ofTarget.has(action) && toProviderId !== null && toPath !== null) keys.push([keyOf(toProviderId, toPath), true])
  return keys
}

const keyOf = (providerId: string, path: string) => `${providerId} ${path}`
