import { type ReactNode, useState } from 'react'
import { texts } from '../texts/ui.ts'
import { Icon } from './icons.tsx'

/**
 * A panel in the corner of the page, with a button that hides its content.
 * @param isEmpty whether the whole panel is hidden, because it has nothing to show
 * @param summary stays visible while the content is hidden
 */
export function DockPanel({
  label,
  title,
  isEmpty = false,
  summary,
  children,
}: {
  label: string
  title: string
  isEmpty?: boolean
  summary?: ReactNode
  children: ReactNode
}) {
  const [isCollapsed, setCollapsed] = useState(false)
  if (isEmpty) return null
  return (
    <section className="dock-panel" aria-label={label}>
      <div className="dock-head">
        <h2>{title}</h2>
        <button
          type="button"
          className="icon-button"
          aria-expanded={!isCollapsed}
          aria-label={isCollapsed ? texts.expand : texts.collapse}
          onClick={() => setCollapsed(!isCollapsed)}
        >
          <Icon name={isCollapsed ? 'up' : 'down'} />
        </button>
      </div>
      {summary}
      {!isCollapsed && children}
    </section>
  )
}
