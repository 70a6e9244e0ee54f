import { Link } from 'react-router'
import { texts } from '../../texts/files.tsx'
import { formatNumber } from '../../texts/format.ts'
import { texts as insightTexts } from '../../texts/insight.ts'
import { Button } from '../../ui/button.tsx'
import { Icon, type IconName } from '../../ui/icons.tsx'
import { Segments } from '../../ui/segments.tsx'
import { useHasBottomBar, useIsPhone } from '../../ui/window-size.ts'
import type { EntryAction } from '../actions.ts'
import type { useDetailsPanel } from '../details/open-panel.ts'
import { columnTitles, type SortColumn, type SortOrder } from '../sort.ts'
import { type FileSelection, UploadButtons, UploadInput } from '../upload/choose-files.tsx'
import { type View, viewTitles } from '../view.ts'

/** Actions for one entry that are only in its menu. */
const onlyInMenu: ReadonlySet<EntryAction['id']> = new Set(['open', 'preview', 'versions', 'restore', 'details'])

/** Actions whose icons have no text beside them, because the bar has little room. Phones have them in the menus of rows. */
const onlyIcons: ReadonlySet<EntryAction['id']> = new Set(['keep', 'star', 'tags'])

const viewIcons: Readonly<Record<View, IconName>> = { list: 'rows', compact: 'lines', tiles: 'grid', gallery: 'photos' }
const views = (Object.keys(viewIcons) as View[]).map(value => ({
  value,
  title: viewTitles[value],
  icon: viewIcons[value],
}))

/** The actions for the folder. They stay available while entries are selected. */
export function Toolbar(props: {
  canWrite: boolean
  filter: string
  order: SortOrder
  onOrder: (order: SortOrder) => void
  view: View
  onView: (view: View) => void
  isLoading: boolean
  /** The address of the page that says what takes up space in the folder. */
  insight: string
  onFilter: (text: string) => void
  onFiles: (files: FileSelection) => void
  onNewFile: () => void
  onNewFolder: () => void
  onRefresh: () => void
  panel: ReturnType<typeof useDetailsPanel>
}) {
  const { canWrite, filter, order, view, isLoading, insight } = props
  const { onFilter, onOrder, onView, onFiles, onNewFile, onNewFolder, onRefresh, panel } = props
  const isPhone = useIsPhone()
  const hasBottomBar = useHasBottomBar()
  return (
    <div className="toolbar" role="toolbar" aria-label={texts.folderTools}>
      {canWrite && !hasBottomBar && (
        <>
          <UploadButtons filesText={texts.upload} folderText={texts.uploadFolder} onFiles={onFiles} />
          <Button onPress={onNewFolder}>
            <Icon name="new-folder" />
            {texts.newFolder}
          </Button>
          <Button aria-label={texts.newFile} onPress={onNewFile}>
            <Icon name="new-file" />
          </Button>
        </>
      )}
      {canWrite && hasBottomBar && <UploadInput onFiles={onFiles} />}
      <input
        type="search"
        className="filter"
        aria-label={texts.filter}
        placeholder={texts.filter}
        value={filter}
        onChange={event => onFilter(event.target.value)}
      />
      <SortChoice order={order} onOrder={onOrder} />
      <Segments
        label={texts.view}
        options={views.filter(({ value }) => !isPhone || value !== 'compact')}
        value={view}
        onChange={onView}
      />
      <Link className="button quiet insight-link" to={insight} aria-label={insightTexts.show} title={insightTexts.show}>
        <Icon name="chart" />
      </Link>
      <Button
        variant="quiet"
        className={isLoading ? 'refresh refreshing' : 'refresh'}
        aria-label={texts.refresh}
        onPress={onRefresh}
      >
        <Icon name="refresh" />
      </Button>
      {panel.hasRoom && (
        <Button
          variant="quiet"
          aria-label={texts.detailsPanel}
          aria-pressed={panel.isOpen}
          onPress={() => panel.set(!panel.isOpen)}
        >
          <Icon name="info" />
        </Button>
      )}
    </div>
  )
}

/** The actions for the selected entries, in a bar at the bottom of the window. Lists end with room for the bar. */
export function SelectionBar({
  actions,
  count,
  onClear,
}: {
  actions: readonly EntryAction[]
  count: number
  onClear: () => void
}) {
  return (
    <div className="selection-bar" role="toolbar" aria-label={texts.selection}>
      <button type="button" className="icon-button" aria-label={texts.clearSelection} onClick={onClear}>
        <Icon name="cross" />
      </button>
      <span className="selection-count" aria-hidden="true">
        {formatNumber(count)}
      </span>
      {actions
        .filter(({ id }) => !onlyInMenu.has(id))
        .map(({ id, label, icon, isDanger, run }) => (
          <Button
            key={id}
            variant="quiet"
            className={isDanger ? 'deletes' : onlyIcons.has(id) ? 'only-icon' : ''}
            onPress={run}
          >
            {icon && <Icon name={icon} />}
            <span className={onlyIcons.has(id) ? 'visually-hidden' : ''}>{label}</span>
          </Button>
        ))}
    </div>
  )
}

/** Phones have no room for the headings of all columns, and none for tags. */
function SortChoice({ order, onOrder }: { order: SortOrder; onOrder: (order: SortOrder) => void }) {
  const orders = (Object.keys(columnTitles) as SortColumn[])
    .filter(column => column !== 'tags' || order.column === 'tags')
    .flatMap(column => [false, true].map((descending): SortOrder => ({ column, descending })))
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
