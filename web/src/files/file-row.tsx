import { type MouseEvent, memo, type ReactNode, type PointerEvent as ReactPointerEvent, useRef } from 'react'
import { urlOf } from '../api/client.ts'
import { texts } from '../texts/files.tsx'
import { formatBytes, formatMinute, formatRecent } from '../texts/format.ts'
import { endOf, lineStep } from '../texts/languages.ts'
import { texts as markTexts } from '../texts/marks.ts'
import { Icon } from '../ui/icons.tsx'
import type { Column } from './columns.ts'
import type { RowDragging } from './dragging.ts'
import { EntryIcon } from './entry-icon.tsx'
import { StarButton } from './marks/star-button.tsx'
import { TagLinks } from './marks/tag-links.tsx'
import { type Entry, thumbnailOf } from './operations.ts'
import { isTouch, pickModeOf, useLongPress } from './pointer.ts'
import type { PickMode } from './selection.ts'
import { typeOf } from './sort.ts'

interface Props {
  entry: Entry
  index: number
  /** The position in pixels. */
  top: number
  /** The column in a line of tiles, from 0. */
  column: number
  href: string
  /** The columns beside the name. */
  columns: readonly Column[]
  /** The size of thumbnails; null if the view has none. */
  thumbnailPixels: number | null
  isSelected: boolean
  isFocused: boolean
  /** Whether any entry is selected. A tap then selects, too. */
  isSelecting: boolean
  onPick: (index: number, mode: PickMode) => void
  onOpen: (entry: Entry) => void
  onMenu: (index: number, at: { x: number; y: number }) => void
  /** Null where entries have no stars. */
  onStar: ((entry: Entry) => void) | null
  onContextMenu: (index: number, event: MouseEvent) => void
  /** Null if entries cannot be dragged. */
  dragging: RowDragging | null
}

/** Shows a cut name in a tooltip. Screen readers would read every other tooltip as a second name. */
function showWholeName({ currentTarget }: ReactPointerEvent<HTMLElement>): void {
  currentTarget.title = currentTarget.scrollWidth > currentTarget.clientWidth ? (currentTarget.textContent ?? '') : ''
}

function cellOf(column: Column, entry: Entry): ReactNode {
  if (column === 'tags') return <TagLinks tags={entry.tags ?? []} max={2} isInTable />
  if (column === 'type') return typeOf(entry)
  if (column === 'modified') return entry.modifiedAt && formatRecent(entry.modifiedAt)
  return entry.__typename === 'Folder' || entry.size === null ? null : formatBytes(entry.size)
}

/** Controls in a row are for the pointer only, because the table handles the keyboard. */
export const FileRow = memo(function FileRow(props: Props) {
  const { entry, index, top, column, href, columns, thumbnailPixels, isSelected, isFocused, isSelecting } = props
  const { onPick, onOpen, onMenu, onStar, onContextMenu, dragging } = props
  // Two quick taps are a double click, too.
  const wasTouched = useRef(false)
  const longPress = useLongPress(() => onPick(index, 'toggle'))
  const isFolder = entry.__typename === 'Folder'
  const protection = entry.hold ? texts.onHold : entry.lock && texts.lockedBy(entry.lock.holderName)
  const open = (event: MouseEvent) => {
    event.preventDefault()
    event.stopPropagation()
    const mode = isTouch(event) && isSelecting ? 'toggle' : pickModeOf(event)
    onPick(index, mode === 'only' ? 'focus' : mode)
    if (mode === 'only') onOpen(entry)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a virtual table renders only its visible rows
    // biome-ignore lint/a11y/useKeyWithClickEvents: the table handles the keyboard
    <div
      role="row"
      id={`row-${index}`}
      tabIndex={-1}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      className={`file-row${isFocused ? ' focused' : ''}`}
      style={{ transform: `translate(${column * 100 * lineStep}%, ${top}px)` }}
      onClick={event => (isTouch(event) ? open(event) : onPick(index, pickModeOf(event)))}
      onDoubleClick={() => wasTouched.current || onOpen(entry)}
      {...longPress}
      onPointerDown={event => {
        // Otherwise a long press would start a drag.
        event.currentTarget.draggable = dragging !== null && event.pointerType !== 'touch'
        longPress.onPointerDown(event)
        wasTouched.current = event.pointerType === 'touch'
      }}
      onContextMenu={event => {
        if (isTouch(event)) longPress.onContextMenu(event)
        else onContextMenu(index, event)
      }}
      draggable={dragging !== null}
      onDragStart={event => dragging?.onStart(index, event)}
      onDragEnd={() => dragging?.onEnd()}
      {...(isFolder && dragging?.targetOf(entry))}
    >
      {/* biome-ignore lint/a11y: the table handles the keyboard */}
      <div role="gridcell" className="cell-check" onClick={event => event.stopPropagation()}>
        <label>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={texts.select}
            checked={isSelected}
            onChange={({ nativeEvent }) =>
              onPick(index, nativeEvent instanceof PointerEvent && nativeEvent.shiftKey ? 'extend' : 'toggle')
            }
          />
        </label>
      </div>
      {/* biome-ignore lint/a11y: as above */}
      <div role="rowheader" className="cell-name">
        <EntryIcon entry={entry} thumbnail={thumbnailPixels === null ? null : thumbnailOf(entry, thumbnailPixels)} />
        <a href={urlOf(href)} dir="auto" tabIndex={-1} draggable={false} onClick={open} onPointerEnter={showWholeName}>
          {entry.name}
        </a>
        {isFolder && <span className="visually-hidden">, {texts.folder}</span>}
        {protection && (
          <span className="lock-badge" title={protection}>
            <Icon name="lock" />
            <span className="visually-hidden">, {protection}</span>
          </span>
        )}
        {entry.isStarred && <span className="visually-hidden">, {markTexts.isStarred}</span>}
        {!columns.includes('tags') && <TagLinks tags={entry.tags ?? []} max={2} isInTable />}
        {onStar && <StarButton isStarred={entry.isStarred ?? false} isInTable onPress={() => onStar(entry)} />}
      </div>
      {columns.map(id => (
        // biome-ignore lint/a11y: as above
        <div
          key={id}
          role="gridcell"
          className={`cell-${id}`}
          title={id === 'modified' && entry.modifiedAt ? formatMinute(entry.modifiedAt) : undefined}
        >
          {cellOf(id, entry)}
        </div>
      ))}
      {/* biome-ignore lint/a11y: as above */}
      <div role="gridcell" className="cell-more">
        <button
          type="button"
          tabIndex={-1}
          className="icon-button"
          aria-label={texts.actions}
          onDoubleClick={event => event.stopPropagation()}
          onClick={event => {
            event.stopPropagation()
            const box = event.currentTarget.getBoundingClientRect()
            onMenu(index, { x: endOf(box), y: box.bottom })
          }}
        >
          <Icon name="more" />
        </button>
      </div>
    </div>
  )
})
