import { useCallback, useMemo, useState } from 'react'
import { entryKey } from './listing.ts'
import type { Entry } from './operations.ts'

interface State {
  selected: ReadonlySet<string>
  /** Where a range begins. */
  anchor: string | null
  /** Where the keyboard is. */
  focused: string | null
}

const nothing: State = { selected: new Set(), anchor: null, focused: null }

export type Pick = 'only' | 'toggle' | 'range' | 'focus'

/** Which entries are chosen; those that have gone are not. */
export function useSelection(entries: readonly Entry[]) {
  const [state, setState] = useState(nothing)
  const indexOf = useMemo(() => new Map(entries.map((entry, index) => [entryKey(entry), index])), [entries])
  const { focused, anchor } = state

  const pick = useCallback(
    (index: number, how: Pick) => {
      const entry = entries[index]
      if (!entry) return
      const key = entryKey(entry)
      setState(({ selected, anchor }) => {
        if (how === 'focus') return { selected, anchor, focused: key }
        if (how === 'range') {
          const from = (anchor === null ? undefined : indexOf.get(anchor)) ?? index
          const range = entries.slice(Math.min(from, index), Math.max(from, index) + 1)
          return { selected: new Set(range.map(entryKey)), anchor: anchor ?? key, focused: key }
        }
        if (how === 'only') return { selected: new Set([key]), anchor: key, focused: key }
        const next = new Set(selected)
        if (!next.delete(key)) next.add(key)
        return { selected: next, anchor: key, focused: key }
      })
    },
    [entries, indexOf],
  )
  const all = useCallback(() => setState(old => ({ ...old, selected: new Set(entries.map(entryKey)) })), [entries])
  /** Also one that is yet to come. */
  const choose = useCallback((entry: Entry) => {
    const key = entryKey(entry)
    setState({ selected: new Set([key]), anchor: key, focused: key })
  }, [])
  const none = useCallback(() => setState(old => ({ ...old, selected: nothing.selected })), [])
  const chosen = useMemo(
    () => (state.selected.size === 0 ? [] : entries.filter(entry => state.selected.has(entryKey(entry)))),
    [entries, state.selected],
  )
  return {
    selected: state.selected,
    chosen,
    focusedIndex: (focused === null ? undefined : indexOf.get(focused)) ?? -1,
    anchor,
    pick,
    all,
    choose,
    none,
  }
}
