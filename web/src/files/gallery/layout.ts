/** The lines of a gallery. */

import { formatMonth } from '../../texts/format.ts'
import type { Entry } from '../operations.ts'

export interface GalleryItem {
  index: number
  /** Pixels. */
  left: number
  width: number
}

export type GalleryLine =
  | { kind: 'month'; height: number; title: string; count: number }
  | { kind: 'folders' | 'photos'; height: number; items: readonly GalleryItem[] }

/** Pixels. */
const gap = 4
const monthHeight = 48
const folderHeight = 52
const minFolderWidth = 180
const photoHeight = 180
const narrowPhotoHeight = 116
const narrowWidth = 640
/** The ratio of width and height before the image has arrived, and the bounds of what is not cropped. */
const usualRatio = 4 / 3
const minRatio = 0.5
const maxRatio = 2.5

function monthOf({ modifiedAt }: Entry): string {
  return modifiedAt === null ? '' : formatMonth(modifiedAt)
}

/** Puts photos into lines that are as wide as the gallery, for each month. @param ratioOf null if it is not known yet */
export function layoutGallery(
  entries: readonly Entry[],
  width: number,
  ratioOf: (entry: Entry) => number | null,
): GalleryLine[] {
  if (width <= 0) return []
  const firstPhoto = entries.findIndex(({ __typename }) => __typename === 'File')
  const folders = firstPhoto < 0 ? entries.length : firstPhoto
  const lines: GalleryLine[] = folderLines(folders, width)
  for (let start = folders; start < entries.length; ) {
    const first = entries[start]
    const title = first ? monthOf(first) : ''
    let end = start + 1
    for (let next = entries[end]; next && monthOf(next) === title; next = entries[end]) end += 1
    lines.push({ kind: 'month', height: monthHeight, title, count: end - start })
    lines.push(...photoLines(entries, start, end, width, ratioOf))
    start = end
  }
  return lines
}

function folderLines(count: number, width: number): GalleryLine[] {
  const perLine = Math.max(1, Math.floor((width + gap) / (minFolderWidth + gap)))
  const each = (width - gap * (perLine - 1)) / perLine
  return Array.from({ length: Math.ceil(count / perLine) }, (_, line) => ({
    kind: 'folders' as const,
    height: folderHeight,
    items: Array.from({ length: Math.min(perLine, count - line * perLine) }, (_, column) => ({
      index: line * perLine + column,
      left: column * (each + gap),
      width: each,
    })),
  }))
}

function photoLines(
  entries: readonly Entry[],
  start: number,
  end: number,
  width: number,
  ratioOf: (entry: Entry) => number | null,
): GalleryLine[] {
  const target = width < narrowWidth ? narrowPhotoHeight : photoHeight
  const lines: GalleryLine[] = []
  let ratios: number[] = []
  const close = (firstIndex: number, height: number) => {
    let left = 0
    const items = ratios.map((ratio, column) => {
      const item = { index: firstIndex + column, left, width: Math.min(ratio * height, width) }
      left += item.width + gap
      return item
    })
    lines.push({ kind: 'photos', height: height + gap, items })
    ratios = []
  }
  for (let index = start; index < end; index += 1) {
    const entry = entries[index]
    const known = entry ? ratioOf(entry) : null
    ratios.push(Math.min(maxRatio, Math.max(minRatio, known ?? usualRatio)))
    const room = width - gap * (ratios.length - 1)
    const height = room / ratios.reduce((sum, ratio) => sum + ratio, 0)
    if (height <= target * 1.15) close(index - ratios.length + 1, Math.min(height, target * 1.15))
  }
  if (ratios.length > 0) close(end - ratios.length, target)
  return lines
}

/** Returns how far it is from one item to the nearest one in the line above (-1) or below (1); 0 if there is none. */
export function stepOfLine(lines: readonly GalleryLine[], index: number, direction: 1 | -1): number {
  const at = lines.findIndex(line => line.kind !== 'month' && line.items.some(item => item.index === index))
  const here = itemsOf(lines[at]).find(item => item.index === index)
  if (!here) return 0
  const middle = here.left + here.width / 2
  for (let line = at + direction; line >= 0 && line < lines.length; line += direction) {
    const items = itemsOf(lines[line])
    const distance = (item: GalleryItem) => Math.abs(item.left + item.width / 2 - middle)
    const nearest = items.toSorted((a, b) => distance(a) - distance(b))[0]
    if (nearest) return nearest.index - index
  }
  return 0
}

export function itemsOf(line: GalleryLine | undefined): readonly GalleryItem[] {
  return line === undefined || line.kind === 'month' ? [] : line.items
}
