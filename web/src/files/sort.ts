import { useCallback, useEffect, useMemo, useState } from 'react'
import { recall, remember } from '../lib/local-storage.ts'
import { texts } from '../texts/files.tsx'
import { compareNames } from '../texts/format.ts'
import { texts as markTexts } from '../texts/marks.ts'
import { kindOf } from './kinds.ts'
import type { Entry } from './operations.ts'

export type SortColumn = 'name' | 'tags' | 'type' | 'size' | 'modified'
export interface SortOrder {
  column: SortColumn
  descending: boolean
}

type Compare = (a: Entry, b: Entry) => number

const sizeOf = (entry: Entry) => (entry.__typename === 'File' ? (entry.size ?? -1) : -1)
/** All times are ISO 8601 in UTC with the same length, so comparing the texts compares the times. */
const timeOf = (entry: Entry) => entry.modifiedAt ?? ''
/** A sort compares each entry many times. */
const typesOf = new WeakMap<Entry, string>()
const tagsOf = (entry: Entry) => (entry.tags ?? []).join('\n')

/** Returns the type of an entry in words. */
export function typeOf(entry: Entry): string {
  const known = typesOf.get(entry)
  if (known !== undefined) return known
  const type = texts.kinds[kindOf(entry)]
  typesOf.set(entry, type)
  return type
}

const byName: Compare = (a, b) => compareNames(a.name, b.name) || (a.name < b.name ? -1 : 1)
const columns: Record<SortColumn, Compare> = {
  name: byName,
  tags: (a, b) => compareNames(tagsOf(a), tagsOf(b)),
  type: (a, b) => compareNames(typeOf(a), typeOf(b)),
  size: (a, b) => sizeOf(a) - sizeOf(b),
  modified: (a, b) => (timeOf(a) < timeOf(b) ? -1 : timeOf(a) > timeOf(b) ? 1 : 0),
}

/** Puts folders first and entries without tags last in both directions, and orders equal entries by name. */
function compareBy({ column, descending }: SortOrder): Compare {
  const compare = columns[column]
  return (a, b) => {
    if (a.__typename !== b.__typename) return a.__typename === 'Folder' ? -1 : 1
    if (column === 'tags' && isTagged(a) !== isTagged(b)) return isTagged(a) ? -1 : 1
    return (descending ? compare(b, a) : compare(a, b)) || byName(a, b)
  }
}

function isTagged({ tags }: Entry): boolean {
  return tags !== undefined && tags.length > 0
}

/** Returns whether a gallery shows an entry. */
export function isPhoto(entry: Entry): boolean {
  return entry.__typename === 'File' && /^(?:image|video)\//.test(entry.mimeType ?? '')
}

/** Returns the folders in their order, and then the photos and videos, the newest first. */
export function galleryOrder(entries: readonly Entry[]): readonly Entry[] {
  const photos = entries.filter(isPhoto).sort((a, b) => columns.modified(b, a))
  return [...entries.filter(({ __typename }) => __typename === 'Folder'), ...photos]
}

export const columnTitles: Readonly<Record<SortColumn, string>> = {
  name: texts.name,
  size: texts.size,
  modified: texts.modified,
  type: texts.type,
  tags: markTexts.tags,
}

const storageKey = 'stowage.sort'
export const byNameAscending: SortOrder = { column: 'name', descending: false }

/** The order of all folders, which this browser remembers. */
export function useSortOrder(): [SortOrder, (order: SortOrder) => void] {
  const [order, setOrder] = useState(storedOrder)
  const change = useCallback((order: SortOrder) => {
    setOrder(order)
    remember(storageKey, `${order.column} ${order.descending ? 'descending' : 'ascending'}`)
  }, [])
  return [order, change]
}

function storedOrder(): SortOrder {
  const [column, direction] = recall(storageKey)?.split(' ') ?? []
  return isSortColumn(column) ? { column, descending: direction === 'descending' } : byNameAscending
}

function isSortColumn(column: string | undefined): column is SortColumn {
  return column !== undefined && Object.hasOwn(columns, column)
}

/** Folders with more entries than this are sorted in slices. */
const maxSortedAtOnce = 3000
/** Milliseconds of sorting before the page may react. */
const sliceTime = 8

/** Returns the entries in sorted order once the listing is complete, and unsorted before. Sorting never blocks the page. */
export function useSorted(entries: readonly Entry[], isComplete: boolean, order: SortOrder): readonly Entry[] {
  const isShort = entries.length <= maxSortedAtOnce
  const sortedAtOnce = useMemo(
    () => (isShort && isComplete ? entries.toSorted(compareBy(order)) : null),
    [entries, isShort, isComplete, order],
  )
  const [sortedInSlices, setSortedInSlices] = useState<readonly Entry[] | null>(null)
  useEffect(() => {
    if (isShort || !isComplete) {
      setSortedInSlices(null)
      return
    }
    const controller = new AbortController()
    void sortInSlices(entries, compareBy(order), controller.signal).then(sorted => {
      if (sorted) setSortedInSlices(sorted)
    })
    return () => controller.abort()
  }, [entries, isShort, isComplete, order])
  return sortedAtOnce ?? (isComplete ? sortedInSlices : null) ?? entries
}

/** A bottom-up merge sort that yields to the page every few milliseconds. Returns null if it was aborted. */
async function sortInSlices(entries: readonly Entry[], compare: Compare, signal: AbortSignal): Promise<Entry[] | null> {
  let runs: Entry[][] = []
  let end = performance.now() + sliceTime
  const canContinue = async () => {
    if (performance.now() < end) return true
    await new Promise(resolve => setTimeout(resolve))
    end = performance.now() + sliceTime
    return !signal.aborted
  }
  for (let at = 0; at < entries.length; at += 500) {
    runs.push(entries.slice(at, at + 500).sort(compare))
    if (!(await canContinue())) return null
  }
  while (runs.length > 1) {
    const merged: Entry[][] = []
    for (let pair = 0; pair < runs.length; pair += 2) {
      const output: Entry[] = []
      const [left = [], right = []] = [runs[pair], runs[pair + 1]]
      for (let l = 0, r = 0; l < left.length || r < right.length; ) {
        const a = left[l]
        const b = right[r]
        if (a && (!b || compare(a, b) <= 0)) {
          output.push(a)
          l += 1
        } else if (b) {
          output.push(b)
          r += 1
        }
        if (output.length % 256 === 0 && !(await canContinue())) return null
      }
      merged.push(output)
    }
    runs = merged
  }
  return runs[0] ?? []
}
