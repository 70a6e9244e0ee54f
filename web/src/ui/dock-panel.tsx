import { type ReactNode, useState } from 'react'
import { texts } from '../texts/ui.ts'
import { Icon } from './icons.tsx'

/**
 * A panel in the corner of the page, with a button that hides its content.
 * @param summary stays visible while the content is hidden
 */
export function DockPanel({
  label,
  title,
  summary,
  children,
}: {
  label: string
  title: string
  summary?: ReactNode
  children: ReactNode
}) {
  const [isCollapsed, setCollapsed] = useState(false)
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
