import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { formatCount } from '../ui/format.ts'
import { tell } from '../ui/toasts.tsx'
import { type Failure, useBatch } from './batch.ts'
import { BatchFailures, BatchProgress } from './batch-status.tsx'
import { FolderPicker } from './folder-picker.tsx'
import { NameDialog } from './name-dialog.tsx'
import { type Conflict, createFolder, type Entry, type Place, type Provider, transfer } from './operations.ts'
import { childPath, isWithin } from './paths.ts'

const isTaken = ({ error }: Failure<Entry>) => error instanceof ApiError && error.reason === 'ALREADY_EXISTS'

/** Moves or copies into a folder that is chosen here, perhaps of another provider. */
export function TransferDialog({
  kind,
  folder,
  entries,
  providers,
  onDone,
  onClose,
}: {
  kind: 'move' | 'copy'
  folder: Place
  entries: readonly Entry[]
  providers: readonly Provider[]
  onDone: (target: Place) => void
  onClose: () => void
}) {
  const client = useQueryClient()
  const [target, setTarget] = useState<Place | null>(folder)
  const [left, setLeft] = useState(entries)
  const [failures, setFailures] = useState<readonly Failure<Entry>[]>([])
  const [naming, setNaming] = useState(false)
  const [conflict] = useState<{ is: Conflict }>({ is: 'FAIL' })
  const batch = useBatch<Entry>(async ({ name }, signal) => {
    if (!target) return
    const from = { ...folder, path: childPath(folder.path, name) }
    await transfer(kind, from, { ...target, path: childPath(target.path, name) }, conflict.is, signal)
  })
  const go = async (how: Conflict) => {
    if (!target) return
    conflict.is = how
    setFailures([])
    const { done, failures } = await batch.run(left)
    onDone(target)
    if (done.length > 0) tell(`${formatCount(done.length, 'item')} ${kind === 'move' ? 'moved' : 'copied'}.`)
    if (failures.length === 0) return onClose()
    setFailures(failures)
    setLeft(failures.map(({ item }) => item))
  }

  const isHere = target?.providerId === folder.providerId && target.path === folder.path
  const intoItself = left.find(
    ({ __typename, name }) =>
      __typename === 'Folder' &&
      target?.providerId === folder.providerId &&
      isWithin(target.path, childPath(folder.path, name)),
  )
  const why = !target
    ? 'Choose a storage.'
    : intoItself
      ? `“${intoItself.name}” cannot go into itself.`
      : isHere && kind === 'move'
        ? `${left.length === 1 ? 'It is' : 'They are'} here already: choose another folder.`
        : null
  const verb = kind === 'move' ? 'Move' : 'Copy'
  const what = left.length === 1 ? `“${left[0]?.name}”` : formatCount(left.length, 'item')
  const allTaken = failures.length > 0 && failures.every(isTaken)
  if (naming && target) {
    return (
      <NameDialog
        title="New folder"
        label="Name"
        action="Create"
        act={async name => {
          const place = { ...target, path: childPath(target.path, name) }
          await createFolder(place)
          await client.invalidateQueries({ queryKey: ['subfolders', target.providerId, target.path] })
          setTarget(place)
        }}
        onClose={() => setNaming(false)}
      />
    )
  }
  return (
    <Dialog title={`${verb} ${what} to`} onClose={onClose} isBusy={batch.isRunning}>
      {!batch.isRunning && failures.length === 0 && (
        <FolderPicker providers={providers} value={target} onChange={setTarget} />
      )}
      {batch.isRunning && (
        <BatchProgress label={verb === 'Move' ? 'Moved' : 'Copied'} done={batch.done} total={batch.total} />
      )}
      {allTaken && (
        <p>
          {left.length === 1 ? 'Its name is taken there.' : 'Their names are taken there.'} Replace what is there, or
          keep both?
        </p>
      )}
      {failures.length > 0 && <BatchFailures failures={failures} />}
      {why && failures.length === 0 && <p className="aside-text">{why}</p>}
      <div className="dialog-actions">
        {target && !batch.isRunning && failures.length === 0 && (
          <Button variant="quiet" className="at-start" onPress={() => setNaming(true)}>
            New folder
          </Button>
        )}
        <Button onPress={batch.isRunning ? batch.stop : onClose}>{batch.isRunning ? 'Stop' : 'Cancel'}</Button>
        {allTaken ? (
          <>
            <Button onPress={() => void go('RENAME')}>Keep both</Button>
            <Button variant="danger" onPress={() => void go('REPLACE')}>
              Replace
            </Button>
          </>
        ) : (
          <Button
            variant="primary"
            onPress={() => void go(isHere ? 'RENAME' : 'FAIL')}
            isPending={batch.isRunning}
            isDisabled={why !== null}
          >
            {failures.length > 0 ? 'Try again' : `${verb} here`}
          </Button>
        )}
      </div>
    </Dialog>
  )
}
