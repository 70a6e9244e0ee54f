import { useRef } from 'react'
import { Menu, MenuItem, Popover } from 'react-aria-components'
import { texts } from '../texts/files.tsx'
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
      <Popover
        triggerRef={anchor}
        isOpen
        aria-label={texts.actions}
        placement="bottom start"
        onOpenChange={isOpen => {
          if (!isOpen) onClose()
        }}
        className="popover"
      >
        <Menu className="menu-list" aria-label={texts.actions} autoFocus="first" onClose={onClose}>
          {actions.map(({ id, label, isDanger, run }) => (
            <MenuItem key={id} id={id} className={isDanger ? 'menu-item danger' : 'menu-item'} onAction={run}>
              {label}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </>
  )
}
