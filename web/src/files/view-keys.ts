/** The keys of a folder, which are the same in all of its views. */
import type { KeyboardEvent } from 'react'
import type { Entry } from './operations.ts'
import type { useSelection } from './selection.ts'

export interface ViewKeys {
  onOpen: (entry: Entry) => void
  onUp: () => void
  onRename: () => void
  onDelete: () => void
  onDetails: () => void
  onHelp: () => void
}

export function handleViewKey(
  event: KeyboardEvent,
  {
    entries,
    selection: { focusedIndex, pick, selectAll, clear },
    keys,
    stepOf,
    moveTo,
    jumpTo,
    openMenuAtFocus,
  }: {
    entries: readonly Entry[]
    selection: ReturnType<typeof useSelection>
    keys: ViewKeys
    /** Returns by how many entries a key moves the focus. */
    stepOf: (key: string) => number | undefined
    moveTo: (index: number, extend: boolean) => void
    /** Goes to the next name that starts with the letters that were typed. */
    jumpTo: (letter: string) => void
    openMenuAtFocus: () => void
  },
): void {
  const { key, shiftKey, altKey } = event
  const command = event.ctrlKey || event.metaKey
  const focused = entries[focusedIndex]
  const step = stepOf(key)
  if (key === 'ArrowUp' && altKey) keys.onUp()
  else if (step !== undefined) moveTo(focusedIndex + step, shiftKey)
  else if (key === 'Home') moveTo(0, shiftKey)
  else if (key === 'End') moveTo(entries.length - 1, shiftKey)
  else if (key === 'a' && command) selectAll()
  else if (key === 'Enter' && altKey) keys.onDetails()
  else if (command || altKey) return
  else if (key === 'Escape') clear()
  else if (key === ' ') pick(Math.max(0, focusedIndex), 'toggle')
  else if (key === 'Enter' && focused) keys.onOpen(focused)
  else if (key === 'Backspace') keys.onUp()
  else if (key === 'F2') keys.onRename()
  else if (key === 'Delete') keys.onDelete()
  else if ((key === 'F10' && shiftKey) || key === 'ContextMenu') openMenuAtFocus()
  else if (key === '?') keys.onHelp()
  // No name has a "/", which goes to the search field.
  else if (key.length === 1 && key !== '/') jumpTo(key)
  else return
  event.preventDefault()
}
