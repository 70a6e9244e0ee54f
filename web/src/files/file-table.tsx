import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type CSSProperties,
  type KeyboardEvent,
  useCallback,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { texts } from '../texts/files.tsx'
import { lineStep, nextKey, previousKey, startOf } from '../texts/languages.ts'
import { Icon } from '../ui/icons.tsx'
import { useIsLow, useIsPhone } from '../ui/window-size.ts'
import { ColumnMenu } from './column-menu.tsx'
import { type Column, type ColumnChoice, gridOf, useFittingColumns, usualColumns } from './columns.ts'
import type { RowDragging } from './dragging.ts'
import { FileRow } from './file-row.tsx'
import { entryKey } from './listing.ts'
import type { Entry } from './operations.ts'
import { useEntryPointer } from './pointer.ts'
import { type FolderPosition, useFocusReturn, type useSelection } from './selection.ts'
import { columnTitles, type SortColumn, type SortOrder } from './sort.ts'
import { scrollerOf, type TableView, thumbnailPixels, useEntriesPerLine, useLineHeight, useWidth } from './view.ts'
import { handleViewKey, type ViewKeys } from './view-keys.ts'

/** Pixels. files.css sets the same height. */
const headHeight = 44
/** Pixels below the last row, which then can be scrolled above the bar of the selection. */
const endHeight = 84
/** Milliseconds after which a typed letter starts a new search. */
const typeAheadTimeout = 800

/** The card of a tile has room for the size only. */
const columnsOfTiles: readonly Column[] = ['size']
const noColumns: readonly Column[] = []

/**
 * A virtual table of entries: only visible rows are in the document. Arrow keys move the focus and, with Shift, select a
 * range. Space selects, Enter opens, Backspace goes up, F2 renames, Delete deletes. Typed letters go to the next name
 * that starts with them.
 */
export function FileTable({
  isCovered,
  label,
  entries,
  hrefOf,
  selection,
  order,
  onSort,
  columns = null,
  view,
  onMenu,
  onStar = null,
  keys,
  startPosition,
  onLeave,
  dragging,
}: {
  /** Whether a dialog or a menu is open above the table. */
  isCovered: boolean
  label: string
  entries: readonly Entry[]
  hrefOf: (entry: Entry) => string
  selection: ReturnType<typeof useSelection>
  order: SortOrder
  onSort: (column: SortColumn) => void
  /** Null where the columns cannot be chosen. */
  columns?: ColumnChoice | null
  view: TableView
  onMenu: (index: number, at: { x: number; y: number }) => void
  /** Null where entries have no stars. */
  onStar?: ((entry: Entry) => void) | null
  keys: ViewKeys
  /** The position where the table takes the focus; null if it does not. */
  startPosition: FolderPosition | null
  onLeave: (position: FolderPosition) => void
  dragging: RowDragging | null
}) {
  const grid = useRef<HTMLDivElement>(null)
  const [element, setElement] = useState<HTMLDivElement | null>(null)
  const attach = useCallback((table: HTMLDivElement | null) => {
    grid.current = table
    setElement(table)
  }, [])
  const isLow = useIsLow()
  const scroller = () => scrollerOf(grid.current, isLow)
  /** Pixels from the top of the element that scrolls to the first row, without the head of the table. */
  const [margin, setMargin] = useState(0)
  const isPhone = useIsPhone()
  const width = useWidth(element)
  const perLine = useEntriesPerLine(view, width)
  const fitting = useFittingColumns(columns?.shown ?? usualColumns, order.column, width)
  const tileColumns = fitting.includes('size') ? columnsOfTiles : noColumns
  const lineHeight = useLineHeight(view)
  useFocusReturn(isCovered, grid)
  const typed = useRef({ text: '', at: 0 })
  const { selectedKeys, selectedEntries, focusedKey, focusedIndex, pick, focusFirst, selectAll, clear } = selection
  const selectedCount = selectedEntries.length
  const virtualizer = useVirtualizer({
    count: Math.ceil(entries.length / perLine),
    getScrollElement: scroller,
    estimateSize: () => lineHeight,
    overscan: 12,
    scrollMargin: margin,
    // The head of the table stays visible above the rows, and the actions for the selection below them.
    scrollPaddingStart: headHeight,
    scrollPaddingEnd: selectedCount > 0 ? endHeight : 0,
    paddingEnd: endHeight,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights change with the view
  useEffect(() => virtualizer.measure(), [lineHeight, virtualizer])
  useLayoutEffect(() => setMargin(isLow ? (element?.offsetTop ?? 0) : 0), [isLow, element])
  const scrollTo = (index: number) => virtualizer.scrollToIndex(Math.floor(index / perLine))

  const moveTo = (index: number, extend: boolean) => {
    const to = Math.max(0, Math.min(index, entries.length - 1))
    pick(to, extend ? 'range' : 'only')
    scrollTo(to)
  }

  const jumpTo = (letter: string) => {
    const now = performance.now()
    const text = (now - typed.current.at < typeAheadTimeout ? typed.current.text : '') + letter.toLowerCase()
    typed.current = { text, at: now }
    const first = focusedIndex + (text.length === 1 ? 1 : 0)
    for (let step = 0; step < entries.length; step += 1) {
      const index = (Math.max(first, 0) + step) % entries.length
      if (entries[index]?.name.toLowerCase().startsWith(text)) return moveTo(index, false)
    }
  }

  const pageLines = Math.max(1, Math.floor((scroller()?.clientHeight ?? 400) / lineHeight) - 2)
  const steps: Record<string, number> = {
    ArrowDown: perLine,
    ArrowUp: -perLine,
    PageDown: pageLines * perLine,
    PageUp: -pageLines * perLine,
    ...(view === 'tiles' && { [nextKey]: 1, [previousKey]: -1 }),
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // The column headings are buttons and handle their keys themselves.
    if (event.target !== grid.current) return
    // Any other key ends the search for a typed name.
    if (event.key.length > 1) typed.current.text = ''
    handleViewKey(event, { entries, selection, keys, stepOf: key => steps[key], moveTo, jumpTo, openMenuAtFocus })
  }

  const openMenuAtFocus = () => {
    const box = document.getElementById(`row-${focusedIndex}`)?.getBoundingClientRect()
    if (box) onMenu(focusedIndex, { x: startOf(box) + 48 * lineStep, y: box.bottom })
  }

  const { onPick, onContextMenu } = useEntryPointer(grid, pick, onMenu)

  const wantedPosition = useRef(startPosition)
  const goToStart = useEffectEvent(() => {
    if (!wantedPosition.current) return
    const { focused, top } = wantedPosition.current
    const index = focused === null ? 0 : entries.findIndex(entry => entryKey(entry) === focused)
    if (index >= 0) pick(index, 'focus')
    if (top !== null) scroller()?.scrollTo({ top })
    else if (index > 0) scrollTo(index)
    // After going back, the link that was pressed before still has the focus.
    const isFree = document.activeElement === document.body || document.activeElement instanceof HTMLAnchorElement
    if (isFree) grid.current?.focus({ preventScroll: true })
  })
  // Entries arrive page by page and are then sorted, so the position is found again until the person does something.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs for each change of the entries
  useEffect(() => goToStart(), [entries])
  const stayHere = () => {
    wantedPosition.current = null
  }
  const leave = useEffectEvent((top: number) => onLeave({ focused: focusedKey, top }))
  useLayoutEffect(() => {
    const scrolling = scrollerOf(element, isLow)
    return () => {
      if (scrolling) leave(scrolling.scrollTop)
    }
  }, [isLow, element])

  const shown = virtualizer
    .getVirtualItems()
    .flatMap(({ index: line, start }) =>
      Array.from({ length: perLine }, (_, column) => ({ index: line * perLine + column, top: start - margin, column })),
    )
  const isFocusShown = shown.some(({ index }) => index === focusedIndex)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a virtual table renders only its visible rows
    <div
      ref={attach}
      className={`file-table ${view}`}
      style={{ '--entries-per-line': perLine, '--columns': gridOf(fitting, isPhone) } as CSSProperties}
      role="grid"
      aria-label={label}
      aria-rowcount={entries.length + 1}
      aria-multiselectable="true"
      aria-activedescendant={isFocusShown ? `row-${focusedIndex}` : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onKeyDownCapture={stayHere}
      onPointerDown={stayHere}
      onWheel={stayHere}
      onFocus={event => {
        if (event.target === grid.current) focusFirst()
      }}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: as above */}
      <div role="rowgroup" className="file-head">
        {/* biome-ignore lint/a11y/useSemanticElements: as above */}
        <div role="row" aria-rowindex={1} className="file-row" tabIndex={-1}>
          {/* biome-ignore lint/a11y/useSemanticElements: as above */}
          <div role="columnheader" className="cell-check" tabIndex={-1}>
            <label>
              <input
                type="checkbox"
                aria-label={texts.selectAll}
                checked={entries.length > 0 && selectedCount === entries.length}
                ref={box => {
                  if (box) box.indeterminate = selectedCount > 0 && selectedCount < entries.length
                }}
                onChange={() => (selectedCount === entries.length ? clear() : selectAll())}
              />
            </label>
          </div>
          {(['name', ...fitting] as const).map(id => (
            // biome-ignore lint/a11y/useSemanticElements: as above
            <div
              key={id}
              role="columnheader"
              tabIndex={-1}
              className={`cell-${id}`}
              aria-sort={order.column !== id ? 'none' : order.descending ? 'descending' : 'ascending'}
            >
              <button type="button" className="sort-button" onClick={() => onSort(id)}>
                {columnTitles[id]}
                {order.column === id && <Icon name={order.descending ? 'down' : 'up'} />}
              </button>
            </div>
          ))}
          {/* biome-ignore lint/a11y/useSemanticElements: as above */}
          <div role="columnheader" className="cell-more" tabIndex={-1}>
            <span className="visually-hidden">{texts.actions}</span>
            {columns && !isPhone && <ColumnMenu columns={columns} />}
          </div>
        </div>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: as above */}
      <div role="rowgroup" className="file-rows" style={{ height: virtualizer.getTotalSize() }}>
        {shown.map(({ index, top, column }) => {
          const entry = entries[index]
          if (!entry) return null
          const key = entryKey(entry)
          return (
            <FileRow
              key={key}
              entry={entry}
              index={index}
              top={top}
              column={column}
              href={hrefOf(entry)}
              columns={view === 'tiles' ? tileColumns : fitting}
              thumbnailPixels={thumbnailPixels[view]}
              isSelected={selectedKeys.has(key)}
              isFocused={index === focusedIndex}
              isSelecting={selectedCount > 0}
              onPick={onPick}
              onOpen={keys.onOpen}
              onMenu={onMenu}
              onStar={onStar}
              onContextMenu={onContextMenu}
              dragging={dragging}
            />
          )
        })}
      </div>
    </div>
  )
}
