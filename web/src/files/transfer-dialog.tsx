import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { childPath, isWithin, type StorageLocation, validateName } from '../api/paths.ts'
import { queryKeys } from '../api/query-keys.ts'
import { ApiError } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { FolderPicker } from '../ui/folder-picker.tsx'
import { formatCount } from '../ui/format.ts'
import { NameDialog } from '../ui/name-dialog.tsx'
import { notify } from '../ui/toasts.tsx'
import { type Failure, useBatch } from './batch.ts'
import { BatchFailures, BatchProgress } from './batch-status.tsx'
import { type Conflict, createFolder, type Entry, type Provider, transfer } from './operations.ts'

const isTaken = ({ error }: Failure) => error instanceof ApiError && error.reason === 'ALREADY_EXISTS'

/** Moves or copies entries into a chosen folder, which may be in another storage. */
export function TransferDialog({
  kind,
  folder,
  entries,
  providers,
  onDone,
  onClose,
}: {
  kind: 'move' | 'copy'
  folder: StorageLocation
  entries: readonly Entry[]
  providers: readonly Provider[]
  onDone: (destination: StorageLocation) => void
  onClose: () => void
}) {
  const client = useQueryClient()
  const [verb, pastVerb] = kind === 'move' ? ['Move', 'moved'] : ['Copy', 'copied']
  const [destination, setDestination] = useState<StorageLocation | null>(folder)
  const [remaining, setRemaining] = useState(entries)
  const [failures, setFailures] = useState<readonly Failure[]>([])
  const [isNaming, setNaming] = useState(false)
  const conflict = useRef<Conflict>('FAIL')
  const batch = useBatch(async ({ name }, signal) => {
    if (!destination) return
    const from = { ...folder, path: childPath(folder.path, name) }
    await transfer(kind, from, { ...destination, path: childPath(destination.path, name) }, conflict.current, signal)
  })
  const transferAll = async (resolution: Conflict) => {
    if (!destination) return
    conflict.current = resolution
    setFailures([])
    const { done, failures } = await batch.run(remaining)
    onDone(destination)
    if (done.length > 0) notify(`${formatCount(done.length, 'item')} ${pastVerb}`)
    if (failures.length === 0) return onClose()
    setFailures(failures)
    setRemaining(failures.map(({ entry }) => entry))
  }

  const isHere = destination?.providerId === folder.providerId && destination.path === folder.path
  const intoItself = remaining.find(
    ({ __typename, name }) =>
      __typename === 'Folder' &&
      destination?.providerId === folder.providerId &&
      isWithin(destination.path, childPath(folder.path, name)),
  )
  const obstacle = !destination
    ? 'Choose a storage.'
    : intoItself
      ? `“${intoItself.name}” cannot be ${pastVerb} into itself.`
      : isHere && kind === 'move'
        ? `${remaining.length === 1 ? 'It is' : 'They are'} already in this folder. Choose another one.`
        : null
  const subject = remaining.length === 1 ? `“${remaining[0]?.name}”` : formatCount(remaining.length, 'item')
  const allTaken = failures.length > 0 && failures.every(isTaken)
  if (isNaming && destination) {
    return (
      <NameDialog
        title="New folder"
        action="Create"
        validate={validateName}
        onSubmit={async name => {
          const created = { ...destination, path: childPath(destination.path, name) }
          await createFolder(created)
          await client.invalidateQueries({ queryKey: queryKeys.subfolders(destination) })
          setDestination(created)
        }}
        onClose={() => setNaming(false)}
      />
    )
  }
  return (
    <Dialog title={`${verb} ${subject} to`} onClose={onClose} isBusy={batch.isRunning}>
      {!batch.isRunning && failures.length === 0 && (
        <FolderPicker providers={providers} value={destination} onChange={setDestination} />
      )}
      {batch.isRunning && (
        <BatchProgress label={kind === 'move' ? 'Moved' : 'Copied'} done={batch.doneCount} total={batch.total} />
      )}
      {allTaken && (
        <p>
          {remaining.length === 1
            ? 'The folder already contains this name. Replace it, or keep both?'
            : 'The folder already contains these names. Replace them, or keep both?'}
        </p>
      )}
      {failures.length > 0 && <BatchFailures failures={failures} />}
      {obstacle && failures.length === 0 && <p className="aside-text">{obstacle}</p>}
      <div className="dialog-actions">
        {destination && !batch.isRunning && failures.length === 0 && (
          <Button variant="quiet" className="at-start" onPress={() => setNaming(true)}>
            New folder
          </Button>
        )}
        <Button onPress={batch.isRunning ? batch.stop : onClose}>{batch.isRunning ? 'Stop' : 'Cancel'}</Button>
        {allTaken ? (
          <>
            <Button onPress={() => void transferAll('RENAME')}>Keep both</Button>
            <Button variant="danger" onPress={() => void transferAll('REPLACE')}>
              Replace
            </Button>
          </>
        ) : (
          <Button
            variant="primary"
            onPress={() => void transferAll(isHere ? 'RENAME' : 'FAIL')}
            isPending={batch.isRunning}
            isDisabled={obstacle !== null}
          >
            {failures.length > 0 ? 'Try again' : `${verb} here`}
          </Button>
        )}
      </div>
    </Dialog>
  )
}
