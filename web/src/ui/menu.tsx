import type { ReactNode, RefObject } from 'react'
import { Header, Menu, MenuItem, MenuSection, Popover } from 'react-aria-components'
import { Icon, type IconName } from './icons.tsx'

export interface MenuAction {
  id: string
  label: string
  icon?: IconName
  isDanger?: boolean
  run: () => void
}

/**
 * Actions. If `chosen` is the id of one of them, they are the values of one choice. If it is a list of ids, each of them can be
 * chosen besides the others.
 */
export interface MenuGroup {
  title?: string
  chosen?: string | readonly string[]
  actions: readonly MenuAction[]
}

/** A menu that is open while it is rendered, beside the element of `anchor`. */
export function ActionMenu({
  anchor,
  label,
  placement = 'bottom start',
  head,
  groups,
  onClose,
}: {
  anchor: RefObject<Element | null>
  label: string
  placement?: 'bottom start' | 'bottom end' | 'top'
  /** Stands above the menu. */
  head?: ReactNode
  groups: readonly MenuGroup[]
  onClose: () => void
}) {
  return (
    <Popover
      triggerRef={anchor}
      isOpen
      aria-label={label}
      placement={placement}
      onOpenChange={isOpen => {
        if (!isOpen) onClose()
      }}
      className="popover"
    >
      {head}
      <Menu className="menu-list" aria-label={label} autoFocus="first" onClose={onClose}>
        {groups.map(({ title, chosen, actions }, index) => (
          <MenuSection
            // biome-ignore lint/suspicious/noArrayIndexKey: the groups of a menu keep their order
            key={index}
            className="menu-section"
            {...(title === undefined ? { 'aria-label': label } : {})}
            {...(chosen !== undefined && {
              selectionMode: typeof chosen === 'string' ? 'single' : 'multiple',
              selectedKeys: typeof chosen === 'string' ? [chosen] : chosen,
              disallowEmptySelection: typeof chosen === 'string',
            })}
          >
            {title !== undefined && <Header>{title}</Header>}
            {actions.map(({ id, label, icon, isDanger, run }) => (
              <MenuItem
                key={id}
                id={id}
                textValue={label}
                className={isDanger ? 'menu-item danger' : 'menu-item'}
                onAction={run}
              >
                {typeof chosen === 'object' && <Icon name="check" />}
                {icon && <Icon name={icon} />}
                {label}
              </MenuItem>
            ))}
          </MenuSection>
        ))}
      </Menu>
    </Popover>
  )
}
