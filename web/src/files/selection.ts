import { type RefObject, useCallback, useEffect, useMemo, useState } from 'react'
import { entryKey } from './listing.ts'
import type { Entry } from './operations.ts'

interface SelectionState {
  selectedKeys: ReadonlySet<string>
  /** The key of the entry where a range starts. */
  anchor: string | null
  /** The key of the entry with the keyboard focus. */
  focused: string | null
}

const emptySelection: SelectionState = { selectedKeys: new Set(), anchor: null, focused: null }

/** `range` selects from the anchor to the entry, and `extend` adds that range to the selection. */
export type PickMode = 'only' | 'toggle' | 'range' | 'extend' | 'focus'

/** The selection in a folder. An entry that disappears is no longer selected. */
export function useSelection(entries: readonly Entry[]) {
  const [state, setState] = useState(emptySelection)
  const indexOf = useMemo(() => new Map(entries.map((entry, index) => [entryKey(entry), index])), [entries])
  const { focused } = state

  const pick = useCallback(
    (index: number, mode: PickMode) => {
      const entry = entries[index]
      if (!entry) return
      const key = entryKey(entry)
      setState(({ selectedKeys, anchor }) => {
        if (mode === 'focus') return { selectedKeys, anchor, focused: key }
        if (mode === 'range' || mode === 'extend') {
          const from = (anchor === null ? undefined : indexOf.get(anchor)) ?? index
          const range = entries.slice(Math.min(from, index), Math.max(from, index) + 1).map(entryKey)
          const kept = mode === 'extend' ? selectedKeys : []
          return { selectedKeys: new Set([...kept, ...range]), anchor: anchor ?? key, focused: key }
        }
        if (mode === 'only') return { selectedKeys: new Set([key]), anchor: key, focused: key }
        const next = new Set(selectedKeys)
        if (!next.delete(key)) next.add(key)
        return { selectedKeys: next, anchor: key, focused: key }
      })
    },
    [entries, indexOf],
  )
  /** Focuses the first entry, unless another one has the focus already. */
  const focusFirst = useCallback(() => {
    const [first] = entries
    if (!first) return
    setState(previous =>
      previous.focused !== null && indexOf.has(previous.focused) ? previous : { ...previous, focused: entryKey(first) },
    )
  }, [entries, indexOf])
  const selectAll = useCallback(
    () => setState(previous => ({ ...previous, selectedKeys: new Set(entries.map(entryKey)) })),
    [entries],
  )
  /** Selects an entry, even one that the listing does not contain yet. */
  const selectOnly = useCallback((entry: Entry) => {
    const key = entryKey(entry)
    setState({ selectedKeys: new Set([key]), anchor: key, focused: key })
  }, [])
  /** Keeps entries selected that have been renamed. */
  const follow = useCallback((renamings: readonly { entry: Entry; name: string }[]) => {
    const keys = new Map(renamings.map(({ entry, name }) => [entryKey(entry), entryKey({ ...entry, name })]))
    const keyOf = (key: string) => keys.get(key) ?? key
    setState(({ selectedKeys, anchor, focused }) => ({
      selectedKeys: new Set([...selectedKeys].map(keyOf)),
      anchor: anchor && keyOf(anchor),
      focused: focused && keyOf(focused),
    }))
  }, [])
  const clear = useCallback(
    () => setState(previous => ({ ...previous, selectedKeys: emptySelection.selectedKeys })),
    [],
  )
  const selectedEntries = useMemo(
    () => (state.selectedKeys.size === 0 ? [] : entries.filter(entry => state.selectedKeys.has(entryKey(entry)))),
    [entries, state.selectedKeys],
  )
  return {
    selectedKeys: state.selectedKeys,
    selectedEntries,
    focusedIndex: (focused === null ? undefined : indexOf.get(focused)) ?? -1,
    focusedKey: focused,
    pick,
    focusFirst,
    selectAll,
    selectOnly,
    follow,
    clear,
  }
}

const maxFrames = 30

/**
 * Returns the focus to `fallback` after a dialog or menu closes, if the element that had the focus no longer exists, such
 * as a menu entry or a renamed row. In all other cases the component library returns the focus itself.
 */
export function useFocusReturn(isCovered: boolean, fallback: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    if (!isCovered) return
    return () => {
      // The library returns the focus in the next frame, so the check waits for the frame after it. On a busy page, elements
      // outside of the dialog accept the focus only some frames later.
      let frames = 0
      const check = () => {
        frames += 1
        const isLost = document.activeElement === document.body
        if (frames > 1 && isLost) fallback.current?.focus({ preventScroll: true })
        if (frames <= 2 || (isLost && frames < maxFrames)) requestAnimationFrame(check)
      }
      requestAnimationFrame(check)
    }
  }, [isCovered, fallback])
}

/** The position of a person in a folder. */
export interface FolderPosition {
  /** The key of the entry with the keyboard focus. */
  focused: string | null
  /** The scroll offset of the table in pixels; null if it should scroll to the focused entry. */
  top: number | null
}

const maxPositions = 200
const positions = new Map<string, FolderPosition>()

/** Remembers the position in a folder until the page is closed, so that going back continues there. */
export function rememberPosition(href: string, position: FolderPosition): void {
  positions.delete(href)
  positions.set(href, position)
  const [oldest] = positions.keys()
  if (positions.size > maxPositions && oldest !== undefined) positions.delete(oldest)
}

export function positionIn(href: string): FolderPosition | null {
  return positions.get(href) ?? null
}
