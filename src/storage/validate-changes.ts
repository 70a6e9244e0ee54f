/** Validates what adapters report about changes at their back ends. */
import type { ChangesPage } from '../../adapters/contract.ts'
import { isName, maxPathBytes, type StoragePath, segmentsOf } from '../auth/path.ts'
import { fault } from './validate-entry.ts'

/** A change that an adapter reported, after validation. */
export interface CheckedChange {
  path: StoragePath | null
  fileId: string | null
  isTree: boolean
  /** As of `performance.now()`; null if only the time of the call is known. */
  noticedAt: number | null
}

export interface CheckedChanges {
  changed: readonly CheckedChange[] | 'everything'
  cursor: string
  hasMore: boolean
}

/** The maximum numbers of changes and of characters, from the contract. */
const maxChanges = 1000
const maxCursorLength = 4096
const maxFileIdLength = 2048

/** Leaves out paths that cannot exist here, which an entry with such a name has. @throws BACK_END_FAULT */
export function checkChanges(page: ChangesPage | null): CheckedChanges | null {
  if (page === null) return null
  if (typeof page !== 'object') throw fault('no page of changes')
  const { changed, cursor, hasMore } = page
  if (typeof cursor !== 'string' || cursor === '' || cursor.length > maxCursorLength) {
    throw fault('a malformed cursor of changes')
  }
  if (changed === 'everything') return { changed, cursor, hasMore: hasMore === true }
  if (!Array.isArray(changed) || changed.length > maxChanges) throw fault('a page of changes that is too long')
  return { changed: changed.flatMap(checkChange), cursor, hasMore: hasMore === true }
}

function checkChange(change: unknown): CheckedChange[] {
  if (typeof change !== 'object' || change === null) throw fault('a change that is no object')
  const { path, fileId, isTree, noticedAt } = change as Record<string, unknown>
  const checked = {
    path: isPath(path) ? path : null,
    fileId: typeof fileId === 'string' && fileId !== '' && fileId.length <= maxFileIdLength ? fileId : null,
    isTree: isTree === true,
    noticedAt: typeof noticedAt === 'number' ? noticedAt : null,
  }
  return checked.path === null && checked.fileId === null ? [] : [checked]
}

function isPath(path: unknown): path is StoragePath {
  if (typeof path !== 'string' || Buffer.byteLength(path) >= maxPathBytes) return false
  return segmentsOf(path as StoragePath).every(isName)
}
