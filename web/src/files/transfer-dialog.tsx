import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { Link } from 'react-router'
import { StowageError } from '../api/client.ts'
import { childPath, isWithin, nameOfPath, type StorageLocation, validateName } from '../api/locations.ts'
import { queryKeys } from '../api/query-keys.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/files.tsx'
import { texts as trashTexts } from '../texts/trash.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog, NameDialog } from '../ui/dialog.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { FolderPicker } from '../ui/folder-picker.tsx'
import { Select } from '../ui/select.tsx'
import { notify } from '../ui/toasts.tsx'
import { folderHref } from './addresses.ts'
import { BatchFailures, BatchProgress, type Failure, useBatch, useStartJobs } from './batch.tsx'
import { type Conflict, createFolder, type Entry, type JobConflict, type Provider, transfer } from './operations.ts'
import { useStorageTrash } from './trash/operations.ts'
import { offerUndo } from './undo.ts'

/** The maximum number of entries that are moved or copied without a job. */
const maxDirect = 20
/** Milliseconds. */
const undoTimeout = 60_000

const isTaken = ({ error }: Failure) => error instanceof StowageError && error.reason === 'ALREADY_EXISTS'

const policies: { value: JobConflict; title: string }[] = [
  { value: 'RENAME', title: texts.keepBoth },
  { value: 'SKIP', title: texts.skip },
  { value: 'REPLACE', title: texts.replace },
  { value: 'NEWER', title: texts.replaceOlder },
]

/**
 * Moves or copies entries into a chosen folder, which may be in another storage. A job does so for other storages, for many
 * files, and for folders unless the storage moves them in one step. It asks only once what happens to names that are taken.
 * @param target the folder that the entries were dropped on; null if the person chooses one
 */
export function TransferDialog({
  kind,
  folder,
  entries,
  providers,
  target,
  onDone,
  onClose,
}: {
  kind: 'move' | 'copy'
  folder: StorageLocation
  entries: readonly Entry[]
  providers: readonly Provider[]
  target: StorageLocation | null
  onDone: (destination: StorageLocation) => void
  onClose: () => void
}) {
  const client = useQueryClient()
  const { data: trash, isPending } = useStorageTrash(folder.providerId)
  const [destination, setDestination] = useState<StorageLocation | null>(target ?? folder)
  const [remaining, setRemaining] = useState(entries)
  const [failures, setFailures] = useState<readonly Failure[]>([])
  const [isNaming, setNaming] = useState(false)
  const [policy, setPolicy] = useState<JobConflict>('RENAME')
  const conflict = useRef<Conflict>('FAIL')
  /** Each moves one entry back. */
  const undoSteps = useRef<(() => Promise<unknown>)[]>([])
  const start = useStartJobs(folder)
  const batch = useBatch(async ({ name }, signal) => {
    if (!destination) return
    const from = { ...folder, path: childPath(folder.path, name) }
    // The names of entries of several folders are paths below `folder`.
    const to = { ...destination, path: childPath(destination.path, nameOfPath(`/${name}`)) }
    const isThere = from.providerId === to.providerId && from.path === to.path
    if (kind === 'move' && isThere) return
    const path = await transfer(kind, from, to, conflict.current, signal)
    undoSteps.current.push(() => transfer('move', { ...to, path }, from, 'FAIL', AbortSignal.timeout(undoTimeout)))
  })
  const transferAll = async (resolution: Conflict) => {
    if (!destination) return
    conflict.current = resolution
    setFailures([])
    undoSteps.current = []
    const { done, failures } = await batch.run(remaining)
    onDone(destination)
    const { providerId, path } = destination
    const storage = providers.find(({ id }) => id === providerId)?.name
    const where = <Link to={folderHref(providerId, path)}>{path === '/' ? storage : path}</Link>
    const text = texts.transferred(
      kind,
      done.map(({ name }) => name),
      where,
    )
    // A file that was replaced would not come back.
    if (kind === 'move' && done.length > 0 && resolution !== 'REPLACE') {
      offerUndo(client, text, [folder, destination], undoSteps.current)
    } else if (done.length > 0) {
      notify(text)
    }
    if (failures.length === 0) return onClose()
    setFailures(failures)
    setRemaining(failures.map(({ item }) => item))
  }

  const isHere = destination?.providerId === folder.providerId && destination.path === folder.path
  const allTaken = failures.length > 0 && failures.every(isTaken)
  const hasFolder = remaining.some(({ __typename }) => __typename === 'Folder')
  /** Only a job puts files into a folder that exists already. */
  const isMerge = allTaken && hasFolder
  const isJob =
    isMerge ||
    entries.length > maxDirect ||
    (hasFolder && !(kind === 'move' && trash?.movesInOneStep)) ||
    destination?.providerId !== folder.providerId
  const startJob = () => {
    if (!destination) return
    const work = { kind: kind === 'move' ? 'MOVE' : 'COPY', entries: remaining, target: destination } as const
    start.mutate({ ...work, conflict: isHere ? 'RENAME' : policy }, { onSuccess: onClose })
  }
  const isRunning = batch.isRunning || start.isPending
  /** Whether entries that were dropped are transferred without a question; null until that is known. */
  const [isImmediate, setImmediate] = useState<boolean | null>(target === null ? false : null)
  const startAtOnce = useEffectEvent(() => {
    if (isImmediate !== null) return
    setImmediate(!isJob)
    if (!isJob) void transferAll('FAIL')
  })
  useEffect(() => {
    if (!isPending) startAtOnce()
  }, [isPending])

  const intoItself = remaining.find(
    ({ __typename, name }) =>
      __typename === 'Folder' &&
      destination?.providerId === folder.providerId &&
      isWithin(destination.path, childPath(folder.path, name)),
  )
  const obstacle = !destination
    ? texts.chooseStorage
    : intoItself
      ? texts.intoItself(kind, intoItself.name)
      : isHere && kind === 'move'
        ? texts.alreadyHere(remaining.length)
        : null
  const names = remaining.map(({ name }) => name)
  const targetName = target && (target.path === '/' ? texts.topFolder : common.quoted(nameOfPath(target.path)))
  const [verb, here] = kind === 'move' ? [texts.moveVerb, texts.moveHere] : [texts.copyVerb, texts.copyHere]
  const label = target ? verb : here
  // Entries that were dropped need a dialog only if something fails.
  if (isImmediate !== false && failures.length === 0) return null
  if (isNaming && destination) {
    return (
      <NameDialog
        title={texts.newFolder}
        action={common.create}
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
    <Dialog title={texts.transferTitle(kind, names, targetName)} onClose={onClose} isBusy={isRunning}>
      {!target && !isRunning && failures.length === 0 && (
        <FolderPicker providers={providers} value={destination} onChange={setDestination} />
      )}
      {batch.isRunning && (
        <BatchProgress
          label={kind === 'move' ? texts.moved : texts.copied}
          done={batch.doneCount}
          total={batch.total}
        />
      )}
      {allTaken && <p>{texts.alreadyExist(remaining.length)}</p>}
      {failures.length > 0 && <BatchFailures failures={failures} />}
      {start.error && <ErrorBox error={start.error} />}
      {isJob && !obstacle && !isHere && (
        <>
          <Select label={texts.ifExists} options={policies} value={policy} onChange={setPolicy} />
          {kind === 'move' && <p className="aside-text">{trashTexts.noUndo}</p>}
        </>
      )}
      {obstacle && failures.length === 0 && <p className="aside-text">{obstacle}</p>}
      <div className="dialog-actions">
        {!target && destination && !isRunning && failures.length === 0 && (
          <Button variant="quiet" className="at-start" onPress={() => setNaming(true)}>
            {texts.newFolder}
          </Button>
        )}
        <Button onPress={batch.isRunning ? batch.stop : onClose}>
          {batch.isRunning ? common.stop : common.cancel}
        </Button>
        {allTaken && !isMerge ? (
          <>
            <Button onPress={() => void transferAll('RENAME')}>{texts.keepBoth}</Button>
            <Button variant="danger" onPress={() => void transferAll('REPLACE')}>
              {texts.replace}
            </Button>
          </>
        ) : (
          <Button
            variant="primary"
            onPress={() => (isJob ? startJob() : void transferAll(isHere ? 'RENAME' : 'FAIL'))}
            isPending={isRunning}
            isDisabled={obstacle !== null}
          >
            {failures.length > 0 && !isMerge ? common.tryAgain : label}
          </Button>
        )}
      </div>
    </Dialog>
  )
}
