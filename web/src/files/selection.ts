import { useCallback, useMemo, useState } from 'react'
import { entryKey } from './listing.ts'
import type { Entry } from './operations.ts'

interface SelectionState {
  selected: ReadonlySet<string>
  /** The key of the entry where a range starts. */
  anchor: string | null
  /** The key of the entry with the keyboard focus. */
  focused: string | null
}

const nothing: SelectionState = { selected: new Set(), anchor: null, focused: null }

export type PickMode = 'only' | 'toggle' | 'range' | 'focus'

/** The selection in a folder. An entry that disappears is no longer selected. */
export function useSelection(entries: readonly Entry[]) {
  const [state, setState] = useState(nothing)
  const indexOf = useMemo(() => new Map(entries.map((entry, index) => [entryKey(entry), index])), [entries])
  const { focused } = state

  const pick = useCallback(
    (index: number, mode: PickMode) => {
      const entry = entries[index]
      if (!entry) return
      const key = entryKey(entry)
      setState(({ selected, anchor }) => {
        if (mode === 'focus') return { selected, anchor, focused: key }
        if (mode === 'range') {
          const from = (anchor === null ? undefined : indexOf.get(anchor)) ?? index
          const range = entries.slice(Math.min(from, index), Math.max(from, index) + 1)
          return { selected: new Set(range.map(entryKey)), anchor: anchor ?? key, focused: key }
        }
        if (mode === 'only') return { selected: new Set([key]), anchor: key, focused: key }
        const next = new Set(selected)
        if (!next.delete(key)) next.add(key)
        return { selected: next, anchor: key, focused: key }
      })
    },
    [entries, indexOf],
  )
  const all = useCallback(
    () => setState(previous => ({ ...previous, selected: new Set(entries.map(entryKey)) })),
    [entries],
  )
  /** Selects an entry, also one that the listing does not contain yet. */
  const choose = useCallback((entry: Entry) => {
    const key = entryKey(entry)
    setState({ selected: new Set([key]), anchor: key, focused: key })
  }, [])
  const none = useCallback(() => setState(previous => ({ ...previous, selected: nothing.selected })), [])
  const chosen = useMemo(
    () => (state.selected.size === 0 ? [] : entries.filter(entry => state.selected.has(entryKey(entry)))),
    [entries, state.selected],
  )
  return {
    selected: state.selected,
    chosen,
    focusedIndex: (focused === null ? undefined : indexOf.get(focused)) ?? -1,
    pick,
    all,
    choose,
    none,
  }
}
