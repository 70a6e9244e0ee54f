import { useEffect, useMemo, useState } from 'react'
import type { Entry } from './operations.ts'

export type SortColumn = 'name' | 'size' | 'modified'
export interface SortOrder {
  column: SortColumn
  descending: boolean
}

type Compare = (a: Entry, b: Entry) => number

const collator = new Intl.Collator(undefined, { numeric: true })
const sizeOf = (entry: Entry) => (entry.__typename === 'File' ? (entry.size ?? -1) : -1)
/** ISO 8601 of one length and zone: text compares as time. */
const timeOf = (entry: Entry) => entry.modifiedAt ?? ''

const byName: Compare = (a, b) => collator.compare(a.name, b.name) || (a.name < b.name ? -1 : 1)
const columns: Record<SortColumn, Compare> = {
  name: byName,
  size: (a, b) => sizeOf(a) - sizeOf(b),
  modified: (a, b) => (timeOf(a) < timeOf(b) ? -1 : timeOf(a) > timeOf(b) ? 1 : 0),
}

/** Folders come first whatever the direction; what is equal goes by name. */
function compareBy({ column, descending }: SortOrder): Compare {
  const compare = columns[column]
  return (a, b) => {
    if (a.__typename !== b.__typename) return a.__typename === 'Folder' ? -1 : 1
    return (descending ? compare(b, a) : compare(a, b)) || byName(a, b)
  }
}

const fewEntries = 3000
/** Milliseconds of work until the page may react. */
const slice = 8

/** In the order of arrival as long as it is not complete; then sorted, at no time keeping the page from reacting. */
export function useSorted(entries: readonly Entry[], isComplete: boolean, order: SortOrder): readonly Entry[] {
  const isSmall = entries.length <= fewEntries
  const small = useMemo(
    () => (isSmall && isComplete ? entries.toSorted(compareBy(order)) : null),
    [entries, isSmall, isComplete, order],
  )
  const [large, setLarge] = useState<readonly Entry[] | null>(null)
  useEffect(() => {
    if (isSmall || !isComplete) {
      setLarge(null)
      return
    }
    const stop = new AbortController()
    void sortInSlices(entries, compareBy(order), stop.signal).then(sorted => {
      if (sorted) setLarge(sorted)
    })
    return () => stop.abort()
  }, [entries, isSmall, isComplete, order])
  return small ?? (isComplete ? large : null) ?? entries
}

/** A merge sort from below that gives way every few milliseconds. Null where it was stopped. */
async function sortInSlices(entries: readonly Entry[], compare: Compare, signal: AbortSignal): Promise<Entry[] | null> {
  let runs: Entry[][] = []
  let end = performance.now() + slice
  const mayGoOn = async () => {
    if (performance.now() < end) return true
    await new Promise(resolve => setTimeout(resolve))
    end = performance.now() + slice
    return !signal.aborted
  }
  for (let at = 0; at < entries.length; at += 500) {
    runs.push(entries.slice(at, at + 500).sort(compare))
    if (!(await mayGoOn())) return null
  }
  while (runs.length > 1) {
    const merged: Entry[][] = []
    for (let pair = 0; pair < runs.length; pair += 2) {
      const target: Entry[] = []
      const [left = [], right = []] = [runs[pair], runs[pair + 1]]
      for (let l = 0, r = 0; l < left.length || r < right.length; ) {
        const a = left[l]
        const b = right[r]
        if (a && (!b || compare(a, b) <= 0)) {
          target.push(a)
          l += 1
        } else if (b) {
          target.push(b)
          r += 1
        }
        if (target.length % 256 === 0 && !(await mayGoOn())) return null
      }
      merged.push(target)
    }
    runs = merged
  }
  return runs[0] ?? []
}
