import { useState } from 'react'
import { childPath, type StorageLocation } from '../api/paths.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { formatBytes, formatCount } from '../ui/format.ts'
import { notify } from '../ui/toasts.tsx'
import { type Failure, useBatch } from './batch.ts'
import { BatchFailures, BatchProgress } from './batch-status.tsx'
import { type Entry, remove } from './operations.ts'
import { useStartJobs } from './start-jobs.ts'

const maxShown = 8

/** Asks before deleting, and lists what will be deleted. A job deletes folders and several entries. */
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
  const batch = useBatch(({ name }, signal) => remove({ ...folder, path: childPath(folder.path, name) }, false, signal))
  const start = useStartJobs(folder)
  const isJob = entries.length > 1 || entries[0]?.__typename === 'Folder'
  const isRunning = batch.isRunning || start.isPending
  const deleteAll = async () => {
    if (isJob) {
      // The rows come back if the job fails, because the panel reloads the folder when it ends.
      const onSuccess = () => {
        onDeleted(entries)
        onClose()
      }
      return start.mutate({ kind: 'DELETE', entries }, { onSuccess })
    }
    setFailures([])
    const { done, failures } = await batch.run(remaining)
    onDeleted(done)
    if (done[0]) notify(`“${done[0].name}” was deleted`)
    if (failures.length === 0) return onClose()
    onFailed()
    setFailures(failures)
    setRemaining(failures.map(({ entry }) => entry))
  }
  const [first] = remaining
  const folders = remaining.filter(entry => entry.__typename === 'Folder').length
  const bytes = remaining.reduce((sum, entry) => sum + (entry.__typename === 'File' ? (entry.size ?? 0) : 0), 0)
  return (
    <Dialog
      title={remaining.length === 1 ? `Delete “${first?.name}”?` : `Delete ${formatCount(remaining.length, 'item')}?`}
      onClose={onClose}
      isBusy={isRunning}
      role="alertdialog"
    >
      {remaining.length > 1 && (
        <ul className="name-list">
          {remaining.slice(0, maxShown).map(({ __typename, name }) => (
            <li key={`${__typename}/${name}`}>
              {name}
              {__typename === 'Folder' && '/'}
            </li>
          ))}
          {remaining.length > maxShown && <li>{formatCount(remaining.length - maxShown, 'more', 'more')}</li>}
        </ul>
      )}
      <p>
        {folders > 0 &&
          (folders === 1
            ? 'Everything in the folder is deleted, too. '
            : 'Everything in the folders is deleted, too. ')}
        {bytes > 0 && `The files take up ${formatBytes(bytes)}. `}
        This cannot be undone.
      </p>
      {batch.isRunning && <BatchProgress label="Deleted" done={batch.doneCount} total={batch.total} />}
      {failures.length > 0 && <BatchFailures failures={failures} />}
      {start.error && <ErrorBox error={start.error} />}
      <div className="dialog-actions">
        <Button onPress={batch.isRunning ? batch.stop : onClose} autoFocus>
          {batch.isRunning ? 'Stop' : 'Cancel'}
        </Button>
        <Button variant="danger" onPress={deleteAll} isPending={isRunning}>
          {failures.length > 0 || start.error ? 'Try again' : 'Delete'}
        </Button>
      </div>
    </Dialog>
  )
}
