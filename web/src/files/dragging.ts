import { type DragEvent, useCallback, useMemo } from 'react'
import { childPath, isWithin, type StorageLocation } from '../api/locations.ts'
import { texts } from '../texts/files.tsx'
import { hideDropLabel, showDragPicture, showDropLabel } from './drag-picture.ts'
import { entryKey } from './listing.ts'
import type { Entry } from './operations.ts'
import type { useSelection } from './selection.ts'

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

function startDrag(event: DragEvent, drag: Drag, name: string): void {
  current = drag
  showDragPicture(event, name, drag.entries.length)
  event.dataTransfer.effectAllowed = 'copyMove'
  event.dataTransfer.setData(type, String(drag.entries.length))
}

function endDrag(): void {
  hideDropLabel()
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

/** Returns the handlers of an element that accepts dragged entries for a folder of the same storage. @param name that of the folder */
export function dropTarget(name: string, target: StorageLocation, onDrop: (dropped: DroppedEntries) => void) {
  const mark = (event: DragEvent<HTMLElement>, isOver: boolean) => {
    event.currentTarget.classList.toggle('drop-target', isOver)
  }
  return {
    onDragOver(event: DragEvent<HTMLElement>) {
      if (!dragTo(target, event)) return
      event.preventDefault()
      event.dataTransfer.dropEffect = kindOf(event)
      showDropLabel(event, texts.dropOn(kindOf(event), name))
      mark(event, true)
    },
    onDragLeave(event: DragEvent<HTMLElement>) {
      const { relatedTarget } = event
      if (relatedTarget instanceof Node && event.currentTarget.contains(relatedTarget)) return
      mark(event, false)
      hideDropLabel()
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

export interface RowDragging {
  onStart: (index: number, event: DragEvent) => void
  onEnd: () => void
  /** Returns the handlers of a folder that accepts dragged entries. */
  targetOf: (entry: Entry) => Partial<ReturnType<typeof dropTarget>>
}

/** Lets people drag entries of a folder onto other folders of its storage. */
export function useDragging({
  canWrite,
  folder,
  shown,
  selection: { selectedKeys, selectedEntries, pick },
  onDrop,
}: {
  canWrite: boolean
  folder: StorageLocation
  shown: readonly Entry[]
  selection: ReturnType<typeof useSelection>
  onDrop: (dropped: DroppedEntries) => void
}) {
  const { providerId, path } = folder
  const targetOf = useCallback(
    (name: string, target: string) => (canWrite ? dropTarget(name, { providerId, path: target }, onDrop) : {}),
    [canWrite, providerId, onDrop],
  )
  const rows = useMemo(
    (): RowDragging | null =>
      canWrite
        ? {
            onStart(index: number, event: DragEvent) {
              const entry = shown[index]
              if (!entry) return
              const isSelected = selectedKeys.has(entryKey(entry))
              if (!isSelected) pick(index, 'only')
              startDrag(event, { folder, entries: isSelected ? selectedEntries : [entry] }, entry.name)
            },
            onEnd: endDrag,
            targetOf: ({ name }: Entry) => targetOf(name, childPath(path, name)),
          }
        : null,
    [canWrite, shown, selectedKeys, selectedEntries, pick, folder, path, targetOf],
  )
  return { targetOf, rows }
}
