/** The gallery of a folder. It takes photos and videos, and shows them by month in lines of the same width. */
import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type KeyboardEvent,
  useCallback,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import type { StorageLocation } from '../../api/locations.ts'
import { texts } from '../../texts/files.tsx'
import { nextKey, previousKey } from '../../texts/languages.ts'
import { useIsLow } from '../../ui/window-size.ts'
import { entryKey } from '../listing.ts'
import type { Entry } from '../operations.ts'
import { useEntryPointer } from '../pointer.ts'
import { type FolderPosition, useFocusReturn, type useSelection } from '../selection.ts'
import { scrollerOf } from '../view.ts'
import { handleViewKey, type ViewKeys } from '../view-keys.ts'
import { itemsOf, layoutGallery, stepOfLine } from './layout.ts'
import { Photo } from './photo.tsx'
import { noteRatio, useRatios } from './ratios.ts'
import './gallery.css'

/** Pixels on both sides of the lines, as in gallery.css. */
const padding = 8

/** Only the visible lines are in the document. The keys are those of the table; the left and right arrows go to the next photo. */
export function Gallery({
  isCovered,
  label,
  folder,
  entries,
  hrefOf,
  selection,
  onMenu,
  keys,
  startPosition,
  onLeave,
}: {
  /** Whether a dialog or a menu is open above the gallery. */
  isCovered: boolean
  label: string
  folder: StorageLocation
  /** In the order of `galleryOrder`. */
  entries: readonly Entry[]
  hrefOf: (entry: Entry) => string
  selection: ReturnType<typeof useSelection>
  onMenu: (index: number, at: { x: number; y: number }) => void
  keys: ViewKeys
  startPosition: FolderPosition | null
  onLeave: (position: FolderPosition) => void
}) {
  const grid = useRef<HTMLDivElement>(null)
  const isLow = useIsLow()
  const width = useInnerWidth(grid)
  const [margin, setMargin] = useState(0)
  const ratioOf = useRatios(folder)
  const lines = useMemo(() => layoutGallery(entries, width, ratioOf), [entries, width, ratioOf])
  const { selectedKeys, focusedIndex, focusedKey, pick, focusFirst } = selection
  useFocusReturn(isCovered, grid)
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scrollerOf(grid.current, isLow),
    estimateSize: index => lines[index]?.height ?? 0,
    overscan: 3,
    scrollMargin: margin,
    paddingStart: padding,
    paddingEnd: padding,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights change with the lines
  useLayoutEffect(() => virtualizer.measure(), [lines, virtualizer])
  useLayoutEffect(() => setMargin(isLow ? (grid.current?.offsetTop ?? 0) : 0), [isLow])

  const lineOf = (index: number) => lines.findIndex(line => itemsOf(line).some(item => item.index === index))
  const moveTo = (index: number, extend: boolean) => {
    const to = Math.max(0, Math.min(index, entries.length - 1))
    pick(to, extend ? 'range' : 'focus')
    const line = lineOf(to)
    if (line >= 0) virtualizer.scrollToIndex(line)
  }
  const stepOf = (key: string): number | undefined => {
    if (key === nextKey) return 1
    if (key === previousKey) return -1
    if (key === 'ArrowDown') return stepOfLine(lines, focusedIndex, 1)
    if (key === 'ArrowUp') return stepOfLine(lines, focusedIndex, -1)
    const pageLines = key === 'PageDown' ? 1 : key === 'PageUp' ? -1 : null
    if (pageLines === null) return undefined
    let step = 0
    for (let count = 0; count < 4; count += 1) step += stepOfLine(lines, focusedIndex + step, pageLines)
    return step
  }
  const openMenuAtFocus = () => {
    const box = document.getElementById(`photo-${focusedIndex}`)?.getBoundingClientRect()
    if (box) onMenu(focusedIndex, { x: box.left + box.width / 2, y: box.top + box.height / 2 })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== grid.current) return
    handleViewKey(event, { entries, selection, keys, stepOf, moveTo, jumpTo: () => {}, openMenuAtFocus })
  }
  const { onPick, onContextMenu } = useEntryPointer(grid, pick, onMenu)
  const onLoaded = useCallback((entry: Entry, image: HTMLImageElement) => noteRatio(folder, entry, image), [folder])

  // A person who comes back finds the place again as soon as there are lines.
  const wanted = useRef(startPosition)
  const goToStart = useEffectEvent(() => {
    if (!wanted.current || lines.length === 0) return
    const { focused, top } = wanted.current
    wanted.current = null
    const index = focused === null ? 0 : entries.findIndex(entry => entryKey(entry) === focused)
    if (index >= 0) pick(index, 'focus')
    if (top !== null) scrollerOf(grid.current, isLow)?.scrollTo({ top })
    const isFree = document.activeElement === document.body || document.activeElement instanceof HTMLAnchorElement
    if (isFree) grid.current?.focus({ preventScroll: true })
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs for each change of the lines
  useEffect(() => goToStart(), [lines])
  const leave = useEffectEvent((top: number) => onLeave({ focused: focusedKey, top }))
  useLayoutEffect(() => {
    const scrolling = scrollerOf(grid.current, isLow)
    return () => {
      if (scrolling) leave(scrolling.scrollTop)
    }
  }, [isLow])

  const shown = virtualizer.getVirtualItems()
  const isFocusShown = shown.some(({ index }) => itemsOf(lines[index]).some(item => item.index === focusedIndex))
  return (
    // biome-ignore lint/a11y/useSemanticElements: a virtual gallery renders only its visible lines
    <div
      ref={grid}
      className="file-table gallery"
      role="grid"
      aria-label={label}
      aria-rowcount={lines.length}
      aria-multiselectable="true"
      aria-activedescendant={isFocusShown ? `photo-${focusedIndex}` : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onFocus={event => {
        if (event.target === grid.current) focusFirst()
      }}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: as above */}
      <div role="rowgroup" className="gallery-lines" style={{ height: virtualizer.getTotalSize() }}>
        {shown.map(({ index: at, start }) => {
          const line = lines[at]
          if (!line) return null
          return (
            // biome-ignore lint/a11y/useSemanticElements: as above
            <div
              key={at}
              role="row"
              tabIndex={-1}
              aria-rowindex={at + 1}
              className="gallery-line"
              style={{ transform: `translateY(${start - margin}px)`, height: line.height }}
            >
              {line.kind === 'month' ? (
                // biome-ignore lint/a11y/useSemanticElements: as above
                <div role="rowheader" tabIndex={-1} className="gallery-month">
                  {line.title === '' ? texts.withoutTime : line.title}
                  <span>{texts.photos(line.count)}</span>
                </div>
              ) : (
                line.items.map(item => {
                  const entry = entries[item.index]
                  return (
                    entry && (
                      <Photo
                        key={entryKey(entry)}
                        entry={entry}
                        item={item}
                        height={line.height - (line.kind === 'photos' ? 4 : 8)}
                        href={hrefOf(entry)}
                        isSelected={selectedKeys.has(entryKey(entry))}
                        isFocused={item.index === focusedIndex}
                        isSelecting={selectedKeys.size > 0}
                        onPick={onPick}
                        onOpen={keys.onOpen}
                        onContextMenu={onContextMenu}
                        onLoaded={onLoaded}
                      />
                    )
                  )
                })
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** Returns the width that the lines of an element have. */
function useInnerWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const { current } = element
    if (!current) return
    const measure = () => setWidth(current.clientWidth - 2 * padding)
    const observer = new ResizeObserver(measure)
    observer.observe(current)
    measure()
    return () => observer.disconnect()
  }, [element])
  return width
}
