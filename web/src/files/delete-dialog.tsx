import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { childPath, type StorageLocation } from '../api/locations.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/files.tsx'
import { formatBytes } from '../texts/format.ts'
import { texts as trashTexts } from '../texts/trash.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { notify } from '../ui/toasts.tsx'
import { BatchFailures, BatchProgress, type Failure, useBatch, useStartJobs } from './batch.tsx'
import { type Entry, remove } from './operations.ts'
import { restore, trashTraits, useStorageTrash } from './trash/operations.ts'
import { offerUndo } from './undo.ts'

const maxShown = 8

/**
 * Asks before deleting, and lists what will be deleted. A job deletes folders and several entries, unless each of them goes to
 * the trash in one step.
 */
export function DeleteDialog({
  folder,
  entries,
  onDeleted,
  onFailed,
  onClose,
}: {
  folder: StorageLocation
  entries: readonly Entry[]
  onDeleted: (deleted: readonly Entry[]) => void
  onFailed: () => void
  onClose: () => void
}) {
  const [remaining, setRemaining] = useState(entries)
  const [failures, setFailures] = useState<readonly Failure[]>([])
  const client = useQueryClient()
  const { data: trash, isPending } = useStorageTrash(folder.providerId)
  /** Each restores one entry. */
  const undoSteps = useRef<(() => Promise<unknown>)[]>([])
  const batch = useBatch(async ({ __typename, name }, signal) => {
    const path = childPath(folder.path, name)
    const id = await remove({ ...folder, path }, __typename === 'Folder', signal)
    if (id !== null) undoSteps.current.push(() => restore(id))
  })
  const start = useStartJobs(folder)
  const isRunning = batch.isRunning || start.isPending
  const deleteAll = async () => {
    const known = await client.ensureQueryData(trashTraits(folder.providerId)).catch(() => null)
    const isOneStep = known !== null && known.days > 0 && known.isOneStep
    if (!isOneStep && (entries.length > 1 || entries[0]?.__typename === 'Folder')) {
      // The rows come back if the job fails, because the panel reloads the folder when it ends.
      const onSuccess = () => {
        onDeleted(entries)
        onClose()
      }
      return start.mutate({ kind: 'DELETE', entries }, { onSuccess })
    }
    setFailures([])
    undoSteps.current = []
    const { done, failures } = await batch.run(remaining)
    onDeleted(done)
    const [first] = done
    if (first) {
      const text = done.length === 1 ? texts.deleted(first.name) : trashTexts.deletedItems(done.length)
      if (undoSteps.current.length === 0) notify(text)
      else offerUndo(client, text, [folder], undoSteps.current)
    }
    if (failures.length === 0) return onClose()
    onFailed()
    setFailures(failures)
    setRemaining(failures.map(({ item }) => item))
  }
  const folders = remaining.filter(entry => entry.__typename === 'Folder').length
  const bytes = remaining.reduce((sum, entry) => sum + (entry.__typename === 'File' ? (entry.size ?? 0) : 0), 0)
  return (
    <Dialog
      title={texts.deleteTitle(remaining.map(({ name }) => name))}
      onClose={onClose}
      isBusy={isRunning}
      role="alertdialog"
    >
      {remaining.length > 1 && (
        <ul className="name-list">
          {remaining.slice(0, maxShown).map(({ __typename, name }) => (
            <li key={`${__typename}/${name}`} dir="auto">
              {name}
              {__typename === 'Folder' && '/'}
            </li>
          ))}
          {remaining.length > maxShown && <li>{texts.more(remaining.length - maxShown)}</li>}
        </ul>
      )}
      <p>
        {folders > 0 && `${texts.foldersToo(folders)} `}
        {bytes > 0 && `${texts.filesTake(remaining.length, formatBytes(bytes))} `}
        {!isPending && keptFor(trash?.days ?? 0, remaining.length)}
      </p>
      {batch.isRunning && <BatchProgress label={texts.deletedCount} done={batch.doneCount} total={batch.total} />}
      {failures.length > 0 && <BatchFailures failures={failures} />}
      {start.error && <ErrorBox error={start.error} />}
      <div className="dialog-actions">
        <Button onPress={batch.isRunning ? batch.stop : onClose} autoFocus>
          {batch.isRunning ? common.stop : common.cancel}
        </Button>
        <Button variant="danger" onPress={deleteAll} isPending={isRunning}>
          {failures.length > 0 || start.error ? common.tryAgain : common.delete}
        </Button>
      </div>
    </Dialog>
  )
}

function keptFor(days: number, count: number): string {
  if (days === 0) return common.cannotUndo
  return count === 1 ? trashTexts.staysInTrash(days) : trashTexts.stayInTrash(days)
}
