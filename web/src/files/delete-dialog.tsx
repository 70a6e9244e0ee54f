import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { formatBytes, formatCount } from '../ui/format.ts'
import { tell } from '../ui/toasts.tsx'
import { type Failure, useBatch } from './batch.ts'
import { BatchFailures, BatchProgress } from './batch-status.tsx'
import { type Entry, type Place, remove } from './operations.ts'
import { childPath } from './paths.ts'

const shown = 8

/** Names what goes. */
export function DeleteDialog({
  folder,
  entries,
  onDeleted,
  onFailed,
  onClose,
}: {
  folder: Place
  entries: readonly Entry[]
  onDeleted: (gone: readonly Entry[]) => void
  onFailed: () => void
  onClose: () => void
}) {
  const [left, setLeft] = useState(entries)
  const [failures, setFailures] = useState<readonly Failure<Entry>[]>([])
  const batch = useBatch<Entry>(({ __typename, name }, signal) =>
    remove({ ...folder, path: childPath(folder.path, name) }, __typename === 'Folder', signal),
  )
  const go = async () => {
    setFailures([])
    const { done, failures } = await batch.run(left)
    onDeleted(done)
    if (done.length > 0) {
      tell(done.length === 1 ? `${done[0]?.name} was deleted.` : `${formatCount(done.length, 'item')} deleted.`)
    }
    if (failures.length === 0) return onClose()
    onFailed()
    setFailures(failures)
    setLeft(failures.map(({ item }) => item))
  }
  const [first] = left
  const folders = left.filter(entry => entry.__typename === 'Folder').length
  const bytes = left.reduce((sum, entry) => sum + (entry.__typename === 'File' ? (entry.size ?? 0) : 0), 0)
  return (
    <Dialog
      title={left.length === 1 ? `Delete “${first?.name}”?` : `Delete ${formatCount(left.length, 'item')}?`}
      onClose={onClose}
      isBusy={batch.isRunning}
      role="alertdialog"
    >
      {left.length > 1 && (
        <ul className="name-list">
          {left.slice(0, shown).map(({ __typename, name }) => (
            <li key={`${__typename}/${name}`}>
              {name}
              {__typename === 'Folder' && '/'}
            </li>
          ))}
          {left.length > shown && <li>… and {formatCount(left.length - shown, 'more', 'more')}</li>}
        </ul>
      )}
      <p>
        {folders > 0 &&
          (left.length === 1 ? 'The folder goes with all that is in it. ' : 'Folders go with all that is in them. ')}
        {bytes > 0 && `${formatBytes(bytes)} in files. `}
        This cannot be undone.
      </p>
      {batch.isRunning && <BatchProgress label="Deleted" done={batch.done} total={batch.total} />}
      {failures.length > 0 && <BatchFailures failures={failures} />}
      <div className="dialog-actions">
        <Button onPress={batch.isRunning ? batch.stop : onClose} autoFocus>
          {batch.isRunning ? 'Stop' : 'Cancel'}
        </Button>
        <Button variant="danger" onPress={go} isPending={batch.isRunning}>
          {failures.length > 0 ? 'Try again' : 'Delete'}
        </Button>
      </div>
    </Dialog>
  )
}
