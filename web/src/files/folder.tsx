import { useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useCallback, useEffect, useEffectEvent, useMemo, useState } from 'react'
import { Link, useLocation, useNavigate, useSearchParams } from 'react-router'
import { ApiError } from '../api/request.ts'
import { fetched } from '../app/fetched.ts'
import { useScopes } from '../app/use-session.ts'
import { ErrorBox } from '../ui/error-box.tsx'
import { formatCount } from '../ui/format.ts'
import { Loading } from '../ui/loading.tsx'
import { tellError } from '../ui/toasts.tsx'
import { actionsFor } from './actions.ts'
import { Breadcrumb } from './breadcrumb.tsx'
import { DeleteDialog } from './delete-dialog.tsx'
import { downloadEntries } from './download.ts'
import { EntryMenu } from './entry-menu.tsx'
import { type Arrival, FileTable } from './file-table.tsx'
import { change, useListing, useRefreshFolder } from './listing.ts'
import { NameDialog } from './name-dialog.tsx'
import { createFolder, type Entry, type Place, type Provider, rename } from './operations.ts'
import { childPath, folderHref, nameOfPath, parentPath } from './paths.ts'
import { previewKind } from './preview/kinds.ts'
import { useSelection } from './selection.ts'
import { type SortColumn, type SortOrder, useSorted } from './sort.ts'
import { Toolbar } from './toolbar.tsx'
import { TransferDialog } from './transfer-dialog.tsx'
import { DropArea } from './upload/drop-area.tsx'
import type { Given } from './upload/dropped-files.ts'
import { uploadFiles } from './upload/waiting-uploads.ts'

const Preview = lazy(async () => ({ default: (await fetched(import('./preview/preview.tsx'))).Preview }))

type Asked = 'folder' | 'rename' | 'move' | 'copy' | 'delete'

const byName: SortOrder = { column: 'name', descending: false }

export function Folder({
  provider,
  providers,
  path,
}: {
  provider: Provider
  providers: readonly Provider[]
  path: string
}) {
  const { canWrite } = useScopes()
  const navigate = useNavigate()
  const { state: arrival }: { state: Arrival | null } = useLocation()
  const client = useQueryClient()
  const refresh = useRefreshFolder()
  const [search, setSearch] = useSearchParams()
  const [order, setOrder] = useState(byName)
  const [filter, setFilter] = useState('')
  const [asked, setAsked] = useState<Asked | null>(null)
  const [menu, setMenu] = useState<{ x: number; y: number } | null>(null)

  const providerId = provider.id
  const place: Place = useMemo(() => ({ providerId, path }), [providerId, path])
  const { entries, isComplete, isFetching, error, refetch, isPending } = useListing(place)
  const sorted = useSorted(entries, isComplete, order)
  const shown = useMemo(() => {
    const wanted = filter.toLowerCase()
    return wanted === '' ? sorted : sorted.filter(({ name }) => name.toLowerCase().includes(wanted))
  }, [sorted, filter])
  const selection = useSelection(shown)
  const { chosen, selected, pick, choose, none } = selection

  const hrefOf = useCallback(
    ({ __typename, name }: Entry) =>
      __typename === 'Folder'
        ? folderHref(providerId, childPath(path, name))
        : `${folderHref(providerId, path)}?file=${encodeURIComponent(name)}`,
    [providerId, path],
  )
  const download = useCallback((what: readonly Entry[]) => void downloadEntries(place, what).catch(tellError), [place])
  const open = useCallback(
    (entry: Entry) => {
      const arrival: Arrival = { folder: null }
      if (entry.__typename === 'Folder') void navigate(hrefOf(entry), { state: arrival })
      else if (previewKind(entry)) void navigate(hrefOf(entry))
      else download([entry])
    },
    [navigate, hrefOf, download],
  )
  const up = useCallback(() => {
    const arrival: Arrival = { folder: nameOfPath(path) }
    if (path === provider.root.path) void navigate('/files')
    else void navigate(folderHref(providerId, parentPath(path)), { state: arrival })
  }, [navigate, path, provider.root.path, providerId])
  const ask = (what: Asked) => {
    if (canWrite && chosen.length > 0 && (what !== 'rename' || chosen.length === 1)) setAsked(what)
  }
  const onMenu = useCallback(
    (index: number, at: { x: number; y: number }) => {
      const entry = shown[index]
      if (!entry) return
      if (!selected.has((entry.__typename === 'Folder' ? '/' : '') + entry.name)) pick(index, 'only')
      setMenu(at)
    },
    [shown, selected, pick],
  )
  const onSort = (column: SortColumn) =>
    setOrder(old => ({ column, descending: old.column === column && !old.descending }))
  const upload = (given: Given) => uploadFiles({ given, providerId, folder: path })

  const actions = actionsFor(chosen, canWrite, {
    open,
    download: () => download(chosen),
    rename: () => ask('rename'),
    move: () => ask('move'),
    copy: () => ask('copy'),
    delete: () => ask('delete'),
  })
  const [first] = chosen
  const wanted = search.get('file')
  const previewed = entries.find(({ __typename, name }) => __typename === 'File' && name === wanted)
  const close = () => setAsked(null)
  const isMissing = error instanceof ApiError && error.reason === 'NOT_FOUND'

  return (
    <DropArea isDisabled={!canWrite || isMissing} folderName={path === '/' ? provider.name : path} onGiven={upload}>
      <main className="folder-page">
        <Breadcrumb provider={provider} path={path} />
        {!isMissing && (
          <Toolbar
            actions={actions}
            chosenCount={chosen.length}
            canWrite={canWrite}
            filter={filter}
            isReading={isFetching}
            onFilter={setFilter}
            onGiven={upload}
            onNewFolder={() => setAsked('folder')}
            onRefresh={() => void refetch()}
            onClear={none}
          />
        )}
        {error && <ErrorBox error={error} retry={refetch} />}
        {isMissing && (
          <p>
            It may have been moved, renamed or deleted.{' '}
            <Link to={folderHref(providerId, provider.root.path)}>Go to the top of {provider.name}</Link>
          </p>
        )}
        {wanted !== null && !previewed && isComplete && (
          <p className="notice" role="status">
            “{wanted}” is not here: it may have been moved, renamed or deleted.
          </p>
        )}
        {isPending && !error && <Loading label="Reading the folder" />}
        {!isPending && shown.length === 0 && isComplete && !error && (
          <Empty isFiltered={filter !== '' && entries.length > 0} canWrite={canWrite} onUp={up} />
        )}
        {shown.length > 0 && (
          <FileTable
            isCovered={asked !== null || menu !== null || previewed !== undefined}
            label={`Files in ${path === '/' ? provider.name : path}`}
            entries={shown}
            hrefOf={hrefOf}
            selection={selection}
            order={order}
            onSort={onSort}
            onMenu={onMenu}
            arrival={arrival}
            keys={{ onOpen: open, onUp: up, onRename: () => ask('rename'), onDelete: () => ask('delete') }}
          />
        )}
        <p className="folder-status" role="status">
          {isPending || (error && !isComplete) ? '' : formatCount(entries.length, 'item')}
          {!isComplete && isFetching && !isPending && ' so far; reading on …'}
          {filter !== '' && ` · ${formatCount(shown.length, 'match', 'matches')}`}
          {chosen.length > 0 && ` · ${formatCount(chosen.length, 'selected', 'selected')}`}
        </p>
      </main>
      {menu && <EntryMenu at={menu} actions={actions} onClose={() => setMenu(null)} />}
      {asked === 'folder' && (
        <NameDialog
          title="New folder"
          label="Name"
          action="Create"
          act={async name => {
            await createFolder({ ...place, path: childPath(path, name) })
            const made: Entry = { __typename: 'Folder', name, modifiedAt: null }
            change(client, place, [], [made])
            choose(made)
            await client.invalidateQueries({ queryKey: ['subfolders', providerId, path] })
          }}
          onClose={close}
        />
      )}
      {asked === 'rename' && first && (
        <NameDialog
          title={`Rename “${first.name}”`}
          label="New name"
          action="Rename"
          initial={first.name}
          act={async name => {
            const now = await rename({ ...place, path: childPath(path, first.name) }, name)
            const renamed = { ...first, name: now }
            change(client, place, [first], [renamed])
            choose(renamed)
          }}
          onClose={close}
        />
      )}
      {(asked === 'move' || asked === 'copy') && (
        <TransferDialog
          kind={asked}
          folder={place}
          entries={chosen}
          providers={providers}
          onDone={target => void refresh(place, target)}
          onClose={close}
        />
      )}
      {asked === 'delete' && (
        <DeleteDialog
          folder={place}
          entries={chosen}
          onDeleted={gone => change(client, place, gone, [])}
          // Perhaps the folder is not what is shown any more.
          onFailed={() => void refresh(place)}
          onClose={close}
        />
      )}
      {previewed && (
        <Suspense fallback={null}>
          <Preview
            folder={place}
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

function Empty({ isFiltered, canWrite, onUp }: { isFiltered: boolean; canWrite: boolean; onUp: () => void }) {
  const goUp = useEffectEvent(onUp)
  useEffect(() => {
    // There is no table that would have the keyboard.
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
        <p>No name in this folder holds that.</p>
      ) : canWrite ? (
        <p>This folder is empty. Drop files or folders here, or press Upload.</p>
      ) : (
        <p>This folder is empty.</p>
      )}
    </div>
  )
}
