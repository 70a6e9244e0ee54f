import { texts } from '../../texts/files.tsx'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import type { EntryAction } from '../actions.ts'
import { useSidebar } from '../sidebar/sidebar-frame.tsx'
import { columnTitles, type SortColumn, type SortOrder } from '../sort.ts'
import { type FileSelection, UploadButtons } from '../upload/choose-files.tsx'
import { type View, viewTitles } from '../view.ts'

/** Actions for one entry that are only in its menu. */
const onlyInMenu: ReadonlySet<EntryAction['id']> = new Set(['open', 'preview', 'versions', 'restore', 'details'])

/** The actions for the folder. They stay available while entries are selected. */
export function Toolbar(props: {
  canWrite: boolean
  filter: string
  order: SortOrder
  onOrder: (order: SortOrder) => void
  view: View
  onView: (view: View) => void
  isLoading: boolean
  onFilter: (text: string) => void
  onFiles: (files: FileSelection) => void
  onNewFolder: () => void
  onRefresh: () => void
}) {
  const { canWrite, filter, order, view, isLoading } = props
  const { onFilter, onOrder, onView, onFiles, onNewFolder, onRefresh } = props
  return (
    <div className="toolbar" role="toolbar" aria-label={texts.folderTools}>
      <SidebarToggle />
      {canWrite && <UploadButtons filesText={texts.upload} folderText={texts.uploadFolder} onFiles={onFiles} />}
      {canWrite && (
        <Button onPress={onNewFolder}>
          <Icon name="plus" />
          {texts.newFolder}
        </Button>
      )}
      <input
        type="search"
        className="filter"
        aria-label={texts.filter}
        placeholder={texts.filter}
        value={filter}
        onChange={event => onFilter(event.target.value)}
      />
      <SortChoice order={order} onOrder={onOrder} />
      <select
        className="view-choice"
        aria-label={texts.view}
        value={view}
        onChange={({ target }) => onView(target.value as View)}
      >
        {Object.entries(viewTitles).map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
      <Button
        variant="quiet"
        className="gallery-toggle"
        aria-label={texts.gallery}
        aria-pressed={view === 'gallery'}
        onPress={() => onView(view === 'gallery' ? 'list' : 'gallery')}
      >
        <Icon name={view === 'gallery' ? 'rows' : 'grid'} />
      </Button>
      <Button variant="quiet" className={isLoading ? 'refreshing' : ''} aria-label={texts.refresh} onPress={onRefresh}>
        <Icon name="refresh" />
      </Button>
    </div>
  )
}

/** The actions for the selected entries. */
export function SelectionBar({ actions, onClear }: { actions: readonly EntryAction[]; onClear: () => void }) {
  return (
    <div className="selection-bar" role="toolbar" aria-label={texts.selection}>
      <button type="button" className="icon-button" aria-label={texts.clearSelection} onClick={onClear}>
        <Icon name="cross" />
      </button>
      {actions
        .filter(({ id }) => !onlyInMenu.has(id))
        .map(({ id, label, icon, isDanger, run }) => (
          <Button key={id} variant={isDanger ? 'danger' : 'default'} onPress={run}>
            {icon && <Icon name={icon} />}
            {label}
          </Button>
        ))}
    </div>
  )
}

function SidebarToggle() {
  const { isOpen, set } = useSidebar()
  return (
    <Button
      variant="quiet"
      aria-label={texts.sidebar}
      aria-expanded={isOpen}
      className="sidebar-toggle"
      onPress={() => set(!isOpen)}
    >
      <Icon name="sidebar" />
    </Button>
  )
}

/** Phones have no room for the headings of all columns. */
function SortChoice({ order, onOrder }: { order: SortOrder; onOrder: (order: SortOrder) => void }) {
  const orders = (Object.keys(columnTitles) as SortColumn[]).flatMap(column =>
    [false, true].map((descending): SortOrder => ({ column, descending })),
  )
  const at = orders.findIndex(({ column, descending }) => column === order.column && descending === order.descending)
  return (
    <select
      className="sort-choice"
      aria-label={texts.sortBy}
      value={at}
      onChange={({ target }) => {
        const picked = orders[Number(target.value)]
        if (picked) onOrder(picked)
      }}
    >
      {orders.map(({ column, descending }, index) => (
        <option key={`${column} ${descending}`} value={index}>
          {columnTitles[column]} {descending ? '↓' : '↑'}
        </option>
      ))}
    </select>
  )
}
