import { useQueryClient } from '@tanstack/react-query'
import { type DragEvent, lazy, Suspense, useCallback, useEffect, useEffectEvent, useMemo, useState } from 'react'
import { Link, useLocation, useNavigate, useNavigationType, useSearchParams } from 'react-router'
import { urlOf } from '../api/base-path.ts'
import { StowageError } from '../api/client.ts'
import { loadPart } from '../api/load-part.ts'
import { childPath, nameOfPath, parentPath, type StorageLocation, validateName } from '../api/paths.ts'
import { queryKeys } from '../api/query-keys.ts'
import { usePermissions, useSession } from '../api/use-session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/files.tsx'
import { texts as trashTexts } from '../texts/trash.tsx'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Icon } from '../ui/icons.tsx'
import { Loading } from '../ui/loading.tsx'
import { NameDialog } from '../ui/name-dialog.tsx'
import { notifyError } from '../ui/toasts.tsx'
import { actionsFor } from './actions.ts'
import { folderHref, trashHref } from './addresses.ts'
import { Breadcrumb } from './breadcrumb.tsx'
import { DeleteDialog } from './delete-dialog.tsx'
import { downloadEntries } from './download/download.ts'
import { type DroppedEntries, dropTarget, endDrag, startDrag } from './dragging.ts'
import { FileTable } from './file-table.tsx'
import { entryKey, updateListing, useListing, useRefreshFolder } from './listing.ts'
import { createFolder, type Entry, type Provider, rename } from './operations.ts'
import { keepPlace, type Place, placeOf } from './places.ts'
import { useSelection } from './selection.ts'
import { noteOpened } from './sidebar/recent-files.ts'
import { type SortColumn, useSorted, useSortOrder } from './sort.ts'
import { Toolbar } from './toolbar.tsx'
import { offerUndo } from './undo.ts'
import { chooseFiles } from './upload/buttons.tsx'
import { DropArea } from './upload/drop-area.tsx'
import type { FileSelection } from './upload/dropped-files.ts'
import { uploadFiles } from './upload/waiting-uploads.ts'
import { useView } from './view.ts'

const TransferDialog = lazy(async () => ({
  default: (await loadPart(import('./transfer-dialog.tsx'))).TransferDialog,
}))
const EntryMenu = lazy(async () => ({ default: (await loadPart(import('./entry-menu.tsx'))).EntryMenu }))
const DetailsDialog = lazy(async () => ({
  default: (await loadPart(import('./details/details-dialog.tsx'))).DetailsDialog,
}))
const KeyboardHelp = lazy(async () => ({ default: (await loadPart(import('./keyboard-help.tsx'))).KeyboardHelp }))
const ShareDialog = lazy(async () => ({ default: (await loadPart(import('./share/share-dialog.tsx'))).ShareDialog }))
const Preview = lazy(async () => ({ default: (await loadPart(import('./preview/preview.tsx'))).Preview }))

type DialogKind = 'new-folder' | 'share' | 'rename' | 'move' | 'copy' | 'delete' | 'details' | 'keyboard'

/** Set on navigation from another folder. */
interface Arrival {
  /** The folder that the person came from, if it is in this one. */
  folder: string | null
}

export function Folder({
  provider,
  providers,
  path,
}: {
  provider: Provider
  providers: readonly Provider[]
  path: string
}) {
  const { canWrite } = usePermissions()
  const navigate = useNavigate()
  const { state: arrival }: { state: Arrival | null } = useLocation()
  const client = useQueryClient()
  const refresh = useRefreshFolder()
  const [search, setSearch] = useSearchParams()
  const [order, setOrder] = useSortOrder()
  const [view, setView] = useView()
  const href = folderHref(provider.id, path)
  const isReturn = useNavigationType() === 'POP'
  const [start] = useState((): Place | null => {
    const arrivalPlace = arrival && { focused: arrival.folder === null ? null : `/${arrival.folder}`, top: null }
    return (isReturn ? placeOf(href) : null) ?? arrivalPlace
  })
  const [filter, setFilter] = useState('')
  const [openDialog, setOpenDialog] = useState<DialogKind | null>(null)
  const [dropped, setDropped] = useState<DroppedEntries | null>(null)
  const [menu, setMenu] = useState<{ x: number; y: number } | null>(null)

  const providerId = provider.id
  const folder: StorageLocation = useMemo(() => ({ providerId, path }), [providerId, path])
  const { entries, isComplete, isFetching, error, refetch, isPending } = useListing(folder)
  const sorted = useSorted(entries, isComplete, order)
  const shown = useMemo(() => {
    const lowerCase = filter.toLowerCase()
    return lowerCase === '' ? sorted : sorted.filter(({ name }) => name.toLowerCase().includes(lowerCase))
  }, [sorted, filter])
  const selection = useSelection(shown)
  const { selectedEntries, selectedKeys, pick, selectOnly, clear } = selection

  const hrefOf = useCallback(
    ({ __typename, name }: Entry) =>
      __typename === 'Folder'
        ? folderHref(providerId, childPath(path, name))
        : `${folderHref(providerId, path)}?file=${encodeURIComponent(name)}`,
    [providerId, path],
  )
  const download = useCallback(
    (entries: readonly Entry[]) => {
      const name = path === '/' ? provider.name : nameOfPath(path)
      void downloadEntries(folder, name, entries).catch(notifyError)
    },
    [folder, path, provider.name],
  )
  const open = useCallback(
    (entry: Entry) => {
      const arrival: Arrival = { folder: null }
      void navigate(hrefOf(entry), entry.__typename === 'Folder' ? { state: arrival } : {})
    },
    [navigate, hrefOf],
  )
  const up = useCallback(() => {
    const arrival: Arrival = { folder: nameOfPath(path) }
    if (path === provider.root.path) void navigate('/files')
    else void navigate(folderHref(providerId, parentPath(path)), { state: arrival })
  }, [navigate, path, provider.root.path, providerId])
  const openIfAllowed = (kind: DialogKind) => {
    if (canWrite && selectedEntries.length > 0 && (kind !== 'rename' || selectedEntries.length === 1))
      setOpenDialog(kind)
  }
  const onMenu = useCallback(
    (index: number, at: { x: number; y: number }) => {
      const entry = shown[index]
      if (!entry) return
      if (!selectedKeys.has(entryKey(entry))) pick(index, 'only')
      setMenu(at)
    },
    [shown, selectedKeys, pick],
  )
  const onSort = (column: SortColumn) => setOrder({ column, descending: order.column === column && !order.descending })
  const targetOf = useCallback(
    (target: string) => (canWrite ? dropTarget({ providerId, path: target }, setDropped) : {}),
    [canWrite, providerId],
  )
  const dragging = useMemo(
    () =>
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
  const upload = (selection: FileSelection) => uploadFiles({ selection, providerId, folder: path })

  const actions = actionsFor(selectedEntries, canWrite, {
    open,
    download: () => download(selectedEntries),
    share: () => setOpenDialog('share'),
    rename: () => openIfAllowed('rename'),
    move: () => openIfAllowed('move'),
    copy: () => openIfAllowed('copy'),
    details: () => setOpenDialog('details'),
    delete: () => openIfAllowed('delete'),
  })
  const [first] = selectedEntries
  const previewName = search.get('file')
  const found = entries.find(({ __typename, name }) => __typename === 'File' && name === previewName)
  // A file that somebody deletes or renames stays open, because the person may be editing it.
  const [opened, setOpened] = useState<Entry | null>(null)
  if (found && found !== opened) setOpened(found)
  const previewed = found ?? (opened?.name === previewName ? opened : undefined)
  const { id: userId } = useSession().viewer.user
  const previewedName = previewed?.name ?? null
  useEffect(() => {
    if (previewedName !== null) noteOpened(userId, { providerId, path: childPath(path, previewedName) })
  }, [userId, providerId, path, previewedName])
  const closeDialog = () => setOpenDialog(null)
  const isMissing = error instanceof StowageError && error.reason === 'NOT_FOUND'
  const isUsable = !isMissing && (!error || isComplete)

  return (
    <DropArea isDisabled={!canWrite || !isUsable} folderName={path === '/' ? provider.name : path} onFiles={upload}>
      <main className="folder-page">
        <Breadcrumb provider={provider} path={path} targetOf={targetOf} />
        {isUsable && (
          <Toolbar
            actions={actions}
            selectedCount={selectedEntries.length}
            canWrite={canWrite}
            filter={filter}
            order={order}
            onOrder={setOrder}
            view={view}
            onView={setView}
            isLoading={isFetching}
            onFilter={setFilter}
            onFiles={upload}
            onNewFolder={() => setOpenDialog('new-folder')}
            onRefresh={() => void refetch()}
            onClear={clear}
          />
        )}
        {error && <ErrorBox error={error} retry={refetch} />}
        {isMissing && (
          <p>
            {texts.missing} <Link to={folderHref(providerId, provider.root.path)}>{texts.goTo(provider.name)}</Link>
          </p>
        )}
        {previewName !== null && !previewed && isComplete && (
          <p className="notice" role="status">
            {texts.missingFile(previewName)}
          </p>
        )}
        {isPending && !error && <Loading label={texts.loadingFolder} />}
        {!isPending && shown.length === 0 && isComplete && !error && (
          <Empty
            isFiltered={filter !== '' && entries.length > 0}
            isStorage={path === provider.root.path}
            canWrite={canWrite}
            onUp={up}
            onNewFolder={() => setOpenDialog('new-folder')}
          />
        )}
        {shown.length > 0 && (
          <FileTable
            isCovered={openDialog !== null || menu !== null || previewed !== undefined}
            label={texts.filesIn(path === '/' ? provider.name : path)}
            entries={shown}
            hrefOf={hrefOf}
            selection={selection}
            order={order}
            onSort={onSort}
            view={view}
            onMenu={onMenu}
            start={start}
            onLeave={place => keepPlace(href, place)}
            dragging={dragging}
            keys={{
              onOpen: open,
              onUp: up,
              onRename: () => openIfAllowed('rename'),
              onDelete: () => openIfAllowed('delete'),
              onDetails: () => selectedEntries.length === 1 && setOpenDialog('details'),
              onHelp: () => setOpenDialog('keyboard'),
            }}
          />
        )}
        <p className="folder-status" role="status">
          {isPending || (error && !isComplete) ? '' : texts.items(entries.length)}
          {!isComplete && isFetching && !isPending && ` ${texts.loadingMore}`}
          {filter !== '' && ` · ${texts.matches(shown.length)}`}
          {selectedEntries.length > 0 && ` · ${texts.selected(selectedEntries.length)}`}
        </p>
        {canWrite && (
          <Link className="trash-link" to={trashHref(providerId)}>
            <Icon name="trash" />
            {trashTexts.trash}
          </Link>
        )}
      </main>
      {menu && (
        <Suspense>
          <EntryMenu at={menu} actions={actions} onClose={() => setMenu(null)} />
        </Suspense>
      )}
      {openDialog === 'new-folder' && (
        <NameDialog
          title={texts.newFolder}
          action={common.create}
          validate={validateName}
          onSubmit={async name => {
            await createFolder({ ...folder, path: childPath(path, name) })
            const created: Entry = { __typename: 'Folder', name, modifiedAt: null }
            updateListing(client, folder, [], [created])
            selectOnly(created)
            await client.invalidateQueries({ queryKey: queryKeys.subfolders(folder) })
          }}
          onClose={closeDialog}
        />
      )}
      {openDialog === 'rename' && first && (
        <NameDialog
          title={common.renameTitle(first.name)}
          label={texts.newName}
          action={common.rename}
          validate={validateName}
          initial={first.name}
          onSubmit={async name => {
            const newName = await rename({ ...folder, path: childPath(path, first.name) }, name)
            const renamed = { ...first, name: newName }
            updateListing(client, folder, [first], [renamed])
            selectOnly(renamed)
            void client.invalidateQueries({ queryKey: queryKeys.subfolders(folder) })
            const undo = () => rename({ ...folder, path: childPath(path, newName) }, first.name)
            offerUndo(client, trashTexts.renamed(newName), [folder], [undo])
          }}
          onClose={closeDialog}
        />
      )}
      {(openDialog === 'move' || openDialog === 'copy') && (
        <Suspense>
          <TransferDialog
            kind={openDialog}
            folder={folder}
            entries={selectedEntries}
            providers={providers}
            target={null}
            onDone={destination => void refresh(folder, destination)}
            onClose={closeDialog}
          />
        </Suspense>
      )}
      {dropped && (
        <Suspense>
          <TransferDialog
            kind={dropped.kind}
            folder={dropped.folder}
            entries={dropped.entries}
            providers={providers}
            target={dropped.target}
            onDone={destination => void refresh(dropped.folder, destination)}
            onClose={() => setDropped(null)}
          />
        </Suspense>
      )}
      {openDialog === 'delete' && (
        <DeleteDialog
          folder={folder}
          entries={selectedEntries}
          onDeleted={deleted => {
            updateListing(client, folder, deleted, [])
            void client.invalidateQueries({ queryKey: queryKeys.subfolders(folder) })
          }}
          // The folder may have changed meanwhile.
          onFailed={() => void refresh(folder)}
          onClose={closeDialog}
        />
      )}
      {openDialog === 'details' && first && (
        <Suspense>
          <DetailsDialog
            folder={folder}
            entry={first}
            storage={provider.name}
            href={urlOf(hrefOf(first))}
            onClose={closeDialog}
          />
        </Suspense>
      )}
      {openDialog === 'share' && (
        <Suspense>
          <ShareDialog folder={folder} entries={selectedEntries} onClose={closeDialog} />
        </Suspense>
      )}
      {openDialog === 'keyboard' && (
        <Suspense>
          <KeyboardHelp onClose={closeDialog} />
        </Suspense>
      )}
      {previewed && (
        <Suspense fallback={null}>
          <Preview
            folder={folder}
            entry={previewed}
            entries={shown}
            onShow={name => setSearch({ file: name }, { replace: true })}
            onDownload={entry => download([entry])}
            onClose={() => setSearch({}, { replace: true })}
          />
        </Suspense>
      )}
    </DropArea>
  )
}

function Empty(props: {
  isFiltered: boolean
  /** Whether the folder is all that the person sees of the storage. */
  isStorage: boolean
  canWrite: boolean
  onUp: () => void
  onNewFolder: () => void
}) {
  const { isFiltered, isStorage, canWrite, onUp, onNewFolder } = props
  const goUp = useEffectEvent(onUp)
  useEffect(() => {
    // An empty folder has no table that handles these keys.
    const onKeyDown = ({ key, altKey }: KeyboardEvent) => {
      const isUp = key === 'Backspace' || (key === 'ArrowUp' && altKey)
      if (isUp && document.activeElement === document.body) goUp()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
  return (
    <div className="empty">
      {isFiltered ? (
        <p>{texts.noMatches}</p>
      ) : (
        <>
          <Icon name={isStorage ? 'upload' : 'folder'} />
          <p className="empty-title">{texts.empty}</p>
          {canWrite && (
            <>
              <p>{isStorage ? texts.storageInvitation : texts.emptyInvitation}</p>
              <div className="empty-actions">
                <Button variant="primary" onPress={chooseFiles}>
                  {texts.chooseFiles}
                </Button>
                <Button onPress={onNewFolder}>{texts.createFolder}</Button>
              </div>
            </>
          )}
        </>
      )}
    </div>
  )
}
