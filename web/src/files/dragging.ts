import type { DragEvent } from 'react'
import { childPath, isWithin, type StorageLocation } from '../api/paths.ts'
import type { Entry } from './operations.ts'

/** Entries that are dragged within this page. A browser does not show the data of a drag before it is dropped. */
interface Drag {
  folder: StorageLocation
  entries: readonly Entry[]
}

export interface DroppedEntries extends Drag {
  kind: 'move' | 'copy'
  target: StorageLocation
}

const type = 'application/x-stowage-entries'
let current: Drag | null = null

export function startDrag(event: DragEvent, drag: Drag): void {
  current = drag
  event.dataTransfer.effectAllowed = 'copyMove'
  event.dataTransfer.setData(type, String(drag.entries.length))
}

export function endDrag(): void {
  current = null
}

/** Alt copies on macOS, and Ctrl elsewhere. */
const kindOf = ({ altKey, ctrlKey }: DragEvent) => (altKey || ctrlKey ? 'copy' : 'move')

function dragTo(target: StorageLocation, { dataTransfer }: DragEvent): Drag | null {
  if (!current || !dataTransfer.types.includes(type)) return null
  const { folder, entries } = current
  if (folder.providerId !== target.providerId || folder.path === target.path) return null
  return entries.some(({ name }) => isWithin(target.path, childPath(folder.path, name))) ? null : current
}

/** Returns the handlers of an element that accepts dragged entries for a folder of the same storage. */
export function dropTarget(target: StorageLocation, onDrop: (dropped: DroppedEntries) => void) {
  const mark = (event: DragEvent<HTMLElement>, isOver: boolean) => {
    event.currentTarget.classList.toggle('drop-target', isOver)
  }
  return {
    onDragOver(event: DragEvent<HTMLElement>) {
      if (!dragTo(target, event)) return
      event.preventDefault()
      event.dataTransfer.dropEffect = kindOf(event)
      mark(event, true)
    },
    onDragLeave(event: DragEvent<HTMLElement>) {
      const { relatedTarget } = event
      if (!(relatedTarget instanceof Node && event.currentTarget.contains(relatedTarget))) mark(event, false)
    },
    onDrop(event: DragEvent<HTMLElement>) {
      const drag = dragTo(target, event)
      mark(event, false)
      if (!drag) return
      event.preventDefault()
      endDrag()
      onDrop({ ...drag, kind: kindOf(event), target })
    },
  }
}
