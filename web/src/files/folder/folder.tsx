import { Suspense, useCallback, useEffect, useMemo, useState } from 'react'
import { Link, useLocation, useSearchParams } from 'react-router'
import { StowageError, urlOf } from '../../api/client.ts'
import { childPath, nameOfPath, type StorageLocation } from '../../api/locations.ts'
import { usePermissions, useSession } from '../../api/session.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { texts } from '../../texts/files.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { notifyError } from '../../ui/toasts.tsx'
import { actionsFor } from '../actions.ts'
import { folderHref, insightHref } from '../addresses.ts'
import { useChanges } from '../changes/use-changes.ts'
import { useColumns } from '../columns.ts'
import { useOfferCreation } from '../create/offer.ts'
import { useDetailsPanel } from '../details/open-panel.ts'
import { downloadEntries } from '../download/download.ts'
import { type DroppedEntries, useDragging } from '../dragging.ts'
import { FileTable } from '../file-table.tsx'
import { entryKey, useListing } from '../listing.ts'
import { useToggleStar } from '../marks/operations.ts'
import { useKeeping } from '../offline/keeping.ts'
import type { Entry, FileEntry, Provider } from '../operations.ts'
import { type FolderPosition, rememberPosition, useSelection } from '../selection.ts'
import { galleryOrder, type SortColumn, useSorted, useSortOrder } from '../sort.ts'
import { rememberRecentFile } from '../tree/recent-files.ts'
import { DropArea, type FileSelection } from '../upload/choose-files.tsx'
import { uploadFiles } from '../upload/waiting-uploads.ts'
import { useView } from '../view.ts'
import type { DialogKind } from './dialogs.tsx'
import { Empty, FolderSkeleton, isStorageTrouble, NoPhotos, StorageTrouble, useCurrentStatus } from './empty.tsx'
import { Breadcrumb, useNavigation } from './navigation.tsx'
import { useSampleFolder } from './sample-folder.ts'
import { SelectionBar, Toolbar } from './toolbar.tsx'

const EntryMenu = lazyPart(async () => (await import('../entry-menu.tsx')).EntryMenu)
const DropDialog = lazyPart(async () => (await import('./dialogs.tsx')).DropDialog)
const FolderDialog = lazyPart(async () => (await import('./dialogs.tsx')).FolderDialog)
const DetailsPanel = lazyPart(async () => (await import('../details/panel.tsx')).DetailsPanel)
const Gallery = lazyPart(async () => (await import('../gallery/gallery.tsx')).Gallery)
const SampleBar = lazyPart(async () => (await import('./sample.tsx')).SampleBar)
const StartSteps = lazyPart(async () => (await import('../../ui/steps.tsx')).StartSteps)
const Preview = lazyPart(async () => (await import('../preview/preview.tsx')).Preview)

export function Folder({
  provider,
  providers,
  path,
}: {
  provider: Provider
  providers: readonly Provider[]
  path: string
}) {
  const { canWrite, isUnrestricted } = usePermissions()
  const [order, setOrder] = useSortOrder()
  const columns = useColumns(order, setOrder)
  const [filter, setFilter] = useState('')
  const [openDialog, setOpenDialog] = useState<DialogKind | null>(null)
  const [dropped, setDropped] = useState<DroppedEntries | null>(null)
  const [menu, setMenu] = useState<{ x: number; y: number } | null>(null)

  const providerId = provider.id
  const folder: StorageLocation = useMemo(() => ({ providerId, path }), [providerId, path])
  const folderName = path === '/' ? provider.name : path
  const { entries, isComplete, isFetching, error, refetch, isPending } = useListing(folder)
  useChanges(folder, !error && !isPending, entries.length)
  useCurrentStatus(provider, error, isComplete)
  const [view, setView] = useView(entries)
  const sorted = useSorted(entries, isComplete, order)
  const matching = useMemo(() => {
    const lowerCase = filter.toLowerCase()
    return lowerCase === '' ? sorted : sorted.filter(({ name }) => name.toLowerCase().includes(lowerCase))
  }, [sorted, filter])
  const shown = useMemo(() => (view === 'gallery' ? galleryOrder(matching) : matching), [matching, view])
  const selection = useSelection(shown)
  const { selectedEntries, selectedKeys, pick, selectOnly, follow, clear } = selection
  const previewed = usePreviewed(folder, entries)
  const { href, startPosition, hrefOf, open, up } = useNavigation(provider, path)
  const { targetOf, rows } = useDragging({ canWrite, folder, shown, selection, onDrop: setDropped })

  const download = useCallback(
    (chosen: readonly Entry[]) => {
      const name = path === '/' ? provider.name : nameOfPath(path)
      void downloadEntries(folder, name, chosen).catch(notifyError)
    },
    [folder, path, provider.name],
  )
  const upload = (files: FileSelection) => uploadFiles({ selection: files, providerId, folder: path })
  const toggleStar = useToggleStar()
  const onStar = useCallback((entry: Entry) => void toggleStar(folder, [entry]), [toggleStar, folder])
  const openIfAllowed = (kind: DialogKind) => {
    if (canWrite && selectedEntries.length > 0) setOpenDialog(kind)
  }
  const keepingOf = useKeeping()
  const actions = actionsFor(selectedEntries, canWrite, {
    open,
    keep: keepingOf(folder, selectedEntries),
    download: () => download(selectedEntries),
    share: () => setOpenDialog('share'),
    star: () => void toggleStar(folder, selectedEntries),
    tags: () => openIfAllowed('tags'),
    rename: () => openIfAllowed('rename'),
    renameMany: () => openIfAllowed('rename-many'),
    move: () => openIfAllowed('move'),
    copy: () => openIfAllowed('copy'),
    versions: () => setOpenDialog('versions'),
    restore: () => openIfAllowed('restore'),
    details: () => setOpenDialog('details'),
    delete: () => openIfAllowed('delete'),
  })
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
  const onNewFolder = () => setOpenDialog('new-folder')
  const onNewFile = () => setOpenDialog('new-file')
  const viewProps = {
    isCovered: openDialog !== null || menu !== null || previewed.entry !== undefined,
    label: texts.filesIn(folderName),
    entries: shown,
    hrefOf,
    selection,
    onMenu,
    onStar,
    startPosition,
    onLeave: (position: FolderPosition) => rememberPosition(href, position),
    keys: {
      onOpen: open,
      onUp: up,
      onRename: () => actions.find(({ id }) => id.startsWith('rename'))?.run(),
      onDelete: () => openIfAllowed('delete'),
      onDetails: () => selectedEntries.length === 1 && setOpenDialog('details'),
      onHelp: () => setOpenDialog('keyboard'),
    },
  }
  const panel = useDetailsPanel()
  const isMissing = error instanceof StowageError && error.reason === 'NOT_FOUND'
  const isUsable = !isMissing && (!error || isComplete)
  const isEmpty = isComplete && !isPending && !error && entries.length === 0
  const isStart = isEmpty && canWrite && isUnrestricted && providers.length === 1 && path === provider.root.path
  const sample = useSampleFolder(folder, entries, isComplete)
  useOfferCreation(canWrite && isUsable, { onFiles: upload, onNewFile, onNewFolder })

  return (
    <DropArea isDisabled={!canWrite || !isUsable} folderName={folderName} onFiles={upload}>
      <main className="folder-page">
        <Suspense>{isStart && <StartSteps current={2} />}</Suspense>
        <div className="folder-head">
          <Breadcrumb provider={provider} path={path} targetOf={targetOf} />
          <p className="folder-status" role="status">
            {isPending || (error && !isComplete) ? '' : texts.items(entries.length)}
            {!isComplete && isFetching && !isPending && ` ${texts.loadingMore}`}
            {filter !== '' && ` · ${texts.matches(matching.length)}`}
            {matching.length > shown.length && ` · ${texts.notInGallery(matching.length - shown.length)}`}
            {selectedEntries.length > 0 && (
              <>
                {' · '}
                <strong>{texts.selected(selectedEntries.length)}</strong>
              </>
            )}
          </p>
        </div>
        {isUsable && (
          <Toolbar
            canWrite={canWrite}
            filter={filter}
            order={order}
            onOrder={setOrder}
            view={view}
            onView={setView}
            isLoading={isFetching}
            insight={insightHref(folder)}
            onFilter={setFilter}
            onFiles={upload}
            onNewFile={onNewFile}
            onNewFolder={onNewFolder}
            onRefresh={() => void refetch()}
            panel={panel}
          />
        )}
        {isStorageTrouble(error) ? (
          <StorageTrouble provider={provider} error={error} retry={refetch} />
        ) : (
          error && <ErrorBox error={error} retry={refetch} />
        )}
        {isMissing && (
          <p>
            {texts.missing} <Link to={folderHref(providerId, provider.root.path)}>{texts.goTo(provider.name)}</Link>
          </p>
        )}
        {previewed.name !== null && !previewed.entry && isComplete && (
          <p className="notice" role="status">
            {texts.missingFile(previewed.name)}
          </p>
        )}
        <Suspense>
          {sample && canWrite && shown.includes(sample) && (
            <SampleBar
              folder={folder}
              name={sample.name}
              onRemove={() => {
                selectOnly(sample)
                setOpenDialog('delete')
              }}
            />
          )}
        </Suspense>
        {isPending && !error && <FolderSkeleton view={view} />}
        {shown.length === 0 && matching.length > 0 && <NoPhotos onList={() => setView('list')} />}
        {!isPending && matching.length === 0 && isComplete && !error && (
          <Empty
            folder={folder}
            isFiltered={filter !== '' && entries.length > 0}
            isStart={isStart}
            canWrite={canWrite}
            onUp={up}
            onNewFolder={onNewFolder}
          />
        )}
        {shown.length > 0 &&
          (view === 'gallery' ? (
            <Suspense fallback={<Loading label={texts.loadingFolder} />}>
              <Gallery {...viewProps} folder={folder} />
            </Suspense>
          ) : (
            <FileTable {...viewProps} order={order} onSort={onSort} columns={columns} view={view} dragging={rows} />
          ))}
        {selectedEntries.length > 0 && (
          <SelectionBar actions={actions} count={selectedEntries.length} onClear={clear} />
        )}
      </main>
      {panel.isOpen && (
        <Suspense fallback={<aside className="details-panel" aria-label={texts.details} />}>
          <DetailsPanel
            folder={folder}
            entries={selectedEntries}
            storage={provider.name}
            hrefOf={entry => urlOf(hrefOf(entry))}
            onVersions={() => setOpenDialog('versions')}
            onClose={() => panel.set(false)}
          />
        </Suspense>
      )}
      <Suspense>{menu && <EntryMenu at={menu} actions={actions} onClose={() => setMenu(null)} />}</Suspense>
      <Suspense>
        {openDialog && (
          <FolderDialog
            kind={openDialog}
            folder={folder}
            entries={selectedEntries}
            provider={provider}
            providers={providers}
            hrefOf={hrefOf}
            onChanged={entry => {
              selectOnly(entry)
              if (openDialog === 'new-file') previewed.edit(entry.name)
            }}
            onRenamedMany={follow}
            onOther={setOpenDialog}
            onClose={() => setOpenDialog(null)}
          />
        )}
      </Suspense>
      <Suspense>
        {dropped && <DropDialog dropped={dropped} providers={providers} onClose={() => setDropped(null)} />}
      </Suspense>
      <Suspense>
        {previewed.entry && (
          <Preview
            folder={folder}
            entry={previewed.entry}
            entries={shown}
            isEditing={previewed.isEditing}
            onShow={previewed.show}
            onDownload={entry => download([entry])}
            onClose={previewed.close}
          />
        )}
      </Suspense>
    </DropArea>
  )
}

/** The file that the address of the page names, which is shown above the folder. */
function usePreviewed({ providerId, path }: StorageLocation, entries: readonly Entry[]) {
  const [search, setSearch] = useSearchParams()
  const { state }: { state: { isEditing?: boolean } | null } = useLocation()
  const name = search.get('file')
  const found = entries.find((entry): entry is FileEntry => entry.__typename === 'File' && entry.name === name)
  // A file that somebody deletes or renames stays open, because the person may be editing it.
  const [lastPreviewed, setLastPreviewed] = useState<FileEntry | null>(null)
  if (found && found !== lastPreviewed) setLastPreviewed(found)
  const entry = found ?? (lastPreviewed?.name === name ? lastPreviewed : undefined)
  const { id: userId } = useSession().viewer.user
  const previewedName = entry?.name ?? null
  useEffect(() => {
    if (previewedName !== null) rememberRecentFile(userId, { providerId, path: childPath(path, previewedName) })
  }, [userId, providerId, path, previewedName])
  const show = useCallback((file: string) => setSearch({ file }, { replace: true }), [setSearch])
  return {
    name,
    entry,
    isEditing: state?.isEditing ?? false,
    show,
    /** Opens a text in the editor. */
    edit: (file: string) => setSearch({ file }, { state: { isEditing: true } }),
    close: () => setSearch({}, { replace: true }),
  }
}
