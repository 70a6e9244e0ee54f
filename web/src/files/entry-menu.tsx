import { useRef } from 'react'
import { texts } from '../texts/files.tsx'
import { ActionMenu } from '../ui/menu.tsx'
import type { EntryAction } from './actions.ts'

/** A context menu with the actions for the selected entries, at the position of the pointer. */
export function EntryMenu({
  at,
  actions,
  onClose,
}: {
  at: { x: number; y: number }
  actions: readonly EntryAction[]
  onClose: () => void
}) {
  const anchor = useRef<HTMLSpanElement>(null)
  return (
    <>
      <span ref={anchor} className="menu-anchor" style={{ left: at.x, top: at.y }} />
      <ActionMenu anchor={anchor} label={texts.actions} groups={[{ actions }]} onClose={onClose} />
    </>
  )
}
