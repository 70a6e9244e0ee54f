import { useCallback, useLayoutEffect, useMemo, useState } from 'react'
import { recall, remember } from '../lib/local-storage.ts'
import { texts } from '../texts/files.tsx'
import { useIsPhone } from '../ui/window-size.ts'
import { kindOf } from './kinds.ts'
import type { Entry } from './operations.ts'

/** The view of the entries of a folder. */
export type View = 'list' | 'compact' | 'tiles' | 'gallery'
/** A view of the table. */
export type TableView = Exclude<View, 'gallery'>

export const viewTitles: Readonly<Record<View, string>> = texts.views

/** Pixels of a line of entries. files.css and tiles.css set the same heights. */
const lineHeights: Readonly<Record<TableView, number>> = { list: 44, compact: 32, tiles: 188 }
const tileHeightOfPhones = 156
/** Pixels of the thumbnails, for screens with two pixels for each of CSS; null for none. */
export const thumbnailPixels: Readonly<Record<TableView, number | null>> = { list: 64, compact: null, tiles: 256 }
/** Pixels of the narrowest tile. */
const minTileWidth = 180
const tilesOfPhones = 3
/** A folder is shown as tiles if at least this share of its entries are pictures or videos, and at least this number of them. */
const minPictureShare = 0.6
const minPictures = 4
/** At most this number of entries of a folder are counted, the first ones. */
const maxCounted = 200
const storageKey = 'stowage.view'

function storedView(): View | null {
  const stored = recall(storageKey)
  return stored === 'list' || stored === 'compact' || stored === 'tiles' || stored === 'gallery' ? stored : null
}

/** Returns whether most of the first entries of a folder are pictures and videos. */
function isAlbum(entries: readonly Entry[]): boolean {
  const first = entries.slice(0, maxCounted)
  const pictures = first.filter(entry => ['image', 'video'].includes(kindOf(entry)))
  return pictures.length >= Math.max(minPictures, first.length * minPictureShare)
}

/**
 * The view of all folders, which this browser remembers. Until a person chooses one, a folder of pictures is shown as tiles.
 * Phones have no compact list, because its lines do not fit a finger.
 */
export function useView(entries: readonly Entry[]): [View, (view: View) => void] {
  const isPhone = useIsPhone()
  const [chosen, setChosen] = useState(storedView)
  const usual = useMemo(() => (isAlbum(entries) ? 'tiles' : 'list'), [entries])
  const change = useCallback((view: View) => {
    setChosen(view)
    remember(storageKey, view)
  }, [])
  const view = chosen ?? usual
  return [isPhone && view === 'compact' ? 'list' : view, change]
}

/** Returns the pixels of a line of entries in this window. */
export function useLineHeight(view: TableView): number {
  const isPhone = useIsPhone()
  return isPhone && view === 'tiles' ? tileHeightOfPhones : lineHeights[view]
}

/** Returns the element that scrolls the entries: their own, or the whole page in a window without room for both. */
export function scrollerOf(entries: HTMLElement | null, isLow: boolean): HTMLElement | null {
  return isLow ? (entries?.closest<HTMLElement>('.folder-page') ?? null) : entries
}

/** Returns the width of an element in pixels; 0 as long as there is none. */
export function useWidth(element: HTMLElement | null): number {
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    if (!element) return
    const measure = () => setWidth(element.clientWidth)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [element])
  return width
}

/** Returns how many entries fit beside each other in a table of this width. */
export function useEntriesPerLine(view: TableView, width: number): number {
  const isPhone = useIsPhone()
  if (view !== 'tiles') return 1
  return isPhone ? tilesOfPhones : Math.max(1, Math.floor(width / minTileWidth))
}
