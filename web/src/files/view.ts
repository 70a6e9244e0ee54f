import { useCallback, useEffect, useState } from 'react'
import { recall, remember } from '../lib/local-storage.ts'
import { texts } from '../texts/files.tsx'
import { useIsPhone } from '../ui/window-size.ts'

/** The view of the entries of a folder. */
export type View = 'list' | 'compact' | 'tiles' | 'gallery'
/** A view of the table. */
export type TableView = Exclude<View, 'gallery'>

export const viewTitles: Readonly<Record<View, string>> = texts.views

/** Pixels of a line of entries. files.css sets the same heights. */
export const lineHeights: Readonly<Record<TableView, number>> = { list: 44, compact: 32, tiles: 132 }
/** Pixels of the thumbnails, for screens with two pixels for each of CSS; null for none. */
export const thumbnailPixels: Readonly<Record<TableView, number | null>> = { list: 64, compact: null, tiles: 256 }
/** Pixels of the narrowest tile. */
const minTileWidth = 144
const storageKey = 'stowage.view'

function storedView(): View {
  const stored = recall(storageKey)
  return stored === 'compact' || stored === 'tiles' || stored === 'gallery' ? stored : 'list'
}

/** The view of all folders, which this browser remembers. Phones show a list, whose lines fit a finger, or the gallery. */
export function useView(): [View, (view: View) => void] {
  const isPhone = useIsPhone()
  const [view, setView] = useState(storedView)
  const change = useCallback((view: View) => {
    setView(view)
    remember(storageKey, view)
  }, [])
  return [isPhone && view !== 'gallery' ? 'list' : view, change]
}

/** Returns the element that scrolls the entries: their own, or the whole page in a window without room for both. */
export function scrollerOf(entries: HTMLElement | null, isLow: boolean): HTMLElement | null {
  return isLow ? (entries?.closest<HTMLElement>('.folder-page') ?? null) : entries
}

/** Returns how many entries fit beside each other. */
export function useEntriesPerLine(view: TableView, container: HTMLElement | null): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    if (view !== 'tiles' || !container) return
    const observer = new ResizeObserver(() => setWidth(container.clientWidth))
    observer.observe(container)
    return () => observer.disconnect()
  }, [view, container])
  return view === 'tiles' ? Math.max(1, Math.floor(width / minTileWidth)) : 1
}
