import { type DragEvent, useCallback, useMemo } from 'react'
import { childPath, type StorageLocation } from '../../api/paths.ts'
import { type DroppedEntries, dropTarget, endDrag, startDrag } from '../dragging.ts'
import type { RowDragging } from '../file-row.tsx'
import { entryKey } from '../listing.ts'
import type { Entry } from '../operations.ts'
import type { useSelection } from '../selection.ts'

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
    (target: string) => (canWrite ? dropTarget({ providerId, path: target }, onDrop) : {}),
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
              startDrag(event, { folder, entries: isSelected ? selectedEntries : [entry] })
            },
            onEnd: endDrag,
            targetOf: ({ name }: Entry) => targetOf(childPath(path, name)),
          }
        : null,
    [canWrite, shown, selectedKeys, selectedEntries, pick, folder, path, targetOf],
  )
  return { targetOf, rows }
}
