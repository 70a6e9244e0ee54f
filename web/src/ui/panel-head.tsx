import { texts } from '../texts/ui.ts'
import { Icon } from './icons.tsx'

/** The headline of a panel in the corner of the page, with a button that hides the list below it. */
export function PanelHead(props: { title: string; isCollapsed: boolean; onCollapse: (isCollapsed: boolean) => void }) {
  const { title, isCollapsed, onCollapse } = props
  return (
    <div className="dock-head">
      <h2>{title}</h2>
      <button
        type="button"
        className="icon-button"
        aria-expanded={!isCollapsed}
        aria-label={isCollapsed ? texts.expand : texts.collapse}
        onClick={() => onCollapse(!isCollapsed)}
      >
        <Icon name={isCollapsed ? 'up' : 'down'} />
      </button>
    </div>
  )
}
