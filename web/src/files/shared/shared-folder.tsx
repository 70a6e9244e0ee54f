import { useQuery } from '@tanstack/react-query'
import { Suspense, useCallback, useMemo, useState } from 'react'
import { Link, useNavigate, useSearchParams } from 'react-router'
import type { SharedEntry, SharedFacts, ShareLink } from '../../api/client.ts'
import { ancestors, childPath, nameOfPath, parentPath } from '../../api/locations.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { save } from '../../lib/save-file.ts'
import { texts as downloadTexts } from '../../texts/downloads.ts'
import { texts as fileTexts } from '../../texts/files.tsx'
import { texts } from '../../texts/shares.tsx'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Loading } from '../../ui/loading.tsx'
import { notifyError } from '../../ui/toasts.tsx'
import type { EntryAction } from '../actions.ts'
import { maxSelected, saveByForm } from '../download/archive-download.ts'
import { FileTable } from '../file-table.tsx'
import '../files.css'
import { entryKey } from '../listing.ts'
import type { Entry, FileEntry } from '../operations.ts'
import { viewerKind } from '../preview/file-types.ts'
import type { ViewedFile } from '../preview/viewer.ts'
import { useSelection } from '../selection.ts'
import { galleryOrder, isPhoto, useSorted, useSortOrder } from '../sort.ts'

const Gallery = lazyPart(async () => (await import('../gallery/gallery.tsx')).Gallery)
const ViewerFrame = lazyPart(async () => (await import('../preview/frame.tsx')).ViewerFrame<FileEntry>)
const EntryMenu = lazyPart(async () => (await import('../entry-menu.tsx')).EntryMenu)

/** One folder of a share, with the table of the console. */
export function SharedFolder({ token, link, facts }: { token: string; link: ShareLink; facts: SharedFacts }) {
  const [search, setSearch] = useSearchParams()
  const navigate = useNavigate()
  const path = search.get('path') ?? '/'
  const { data, error, refetch, isPending } = useQuery({
    queryKey: ['share', token, 'entries', path],
    queryFn: async ({ signal }) => {
      const entries: Entry[] = []
      for await (const entry of link.list(path, { signal })) entries.push(asEntry(entry, link))
      return entries
    },
  })
  const entries = useMemo(() => data ?? [], [data])
  const [order, setOrder] = useSortOrder()
  const sorted = useSorted(entries, data !== undefined, order)
  const isGallery = useMemo(() => isAllPhotos(entries), [entries])
  const shown = useMemo(() => (isGallery ? galleryOrder(sorted) : sorted), [isGallery, sorted])
  const selection = useSelection(shown)
  const { selectedEntries, selectedKeys, pick } = selection
  const [menu, setMenu] = useState<{ x: number; y: number } | null>(null)
  const isLimited = facts.downloadsLeft !== null
  // Showing a file would count as a download.
  const viewable = useMemo(() => (isLimited ? [] : sorted.filter(isViewable)), [sorted, isLimited])
  const previewed = viewable.find(({ name }) => name === search.get('file'))
  const viewedOf = useCallback((file: FileEntry) => sharedFile(link, childPath(path, file.name), file), [link, path])

  const hrefTo = useCallback(
    (at: string, file?: string) => {
      const query = new URLSearchParams({ ...(at !== '/' && { path: at }), ...(file !== undefined && { file }) })
      return `/s/${token}${query.size > 0 ? `?${query}` : ''}`
    },
    [token],
  )
  const download = useCallback(
    (wanted: readonly Entry[]) => {
      const paths = wanted.map(({ name }) => childPath(path, name))
      const [first, ...others] = paths
      const selection = JSON.stringify({ paths })
      const fail = () => notifyError(new Error(downloadTexts.failed))
      if (paths.length > maxSelected) notifyError(new Error(downloadTexts.tooMany(maxSelected)))
      else if (others.length > 0) saveByForm(link.archiveUrl, { selection }, fail)
      else if (first !== undefined) save(link.contentUrl(first), '')
    },
    [link, path],
  )
  const hrefOf = useCallback(
    (entry: Entry) => (entry.__typename === 'Folder' ? hrefTo(childPath(path, entry.name)) : hrefTo(path, entry.name)),
    [hrefTo, path],
  )
  const open = useCallback(
    (entry: Entry) => {
      if (entry.__typename === 'Folder' || (!isLimited && isViewable(entry))) void navigate(hrefOf(entry))
      else download([entry])
    },
    [navigate, hrefOf, download, isLimited],
  )
  const onMenu = useCallback(
    (index: number, at: { x: number; y: number }) => {
      const entry = shown[index]
      if (!entry) return
      if (!selectedKeys.has(entryKey(entry))) pick(index, 'only')
      setMenu(at)
    },
    [shown, selectedKeys, pick],
  )
  const [single] = selectedEntries
  const actions: EntryAction[] = [
    ...(single && selectedEntries.length === 1
      ? [{ id: 'open' as const, label: fileTexts.open, run: () => open(single) }]
      : []),
    {
      id: 'download',
      label: isArchive(selectedEntries) ? fileTexts.downloadZip : fileTexts.download,
      icon: 'download',
      run: () => download(selectedEntries),
    },
  ]
  const up = () => {
    if (path !== '/') void navigate(hrefTo(parentPath(path)))
  }
  const close = () => setSearch(path === '/' ? {} : { path }, { replace: true })
  const show = useCallback(
    (file: string) => setSearch({ ...(path !== '/' && { path }), file }, { replace: true }),
    [path, setSearch],
  )
  const viewProps = {
    isCovered: menu !== null || previewed !== undefined,
    label: fileTexts.filesIn(nameOfPath(path) || (facts.name ?? texts.pageOf(null))),
    entries: shown,
    hrefOf,
    selection,
    onMenu,
    startPosition: null,
    onLeave: nothing,
    keys: { onOpen: open, onUp: up, onRename: nothing, onDelete: nothing, onDetails: nothing, onHelp: nothing },
  }
  const trail = [{ name: facts.name ?? texts.pageOf(null), path: '/' }, ...ancestors(path, '/')]

  return (
    <main className="folder-page">
      <nav aria-label={fileTexts.path} className="breadcrumb">
        <ol>
          {trail.map((step, index) => (
            <li key={step.path}>
              {index === trail.length - 1 ? (
                <h1 aria-current="page" dir="auto">
                  {step.name}
                </h1>
              ) : (
                <Link to={hrefTo(step.path)} dir="auto">
                  {step.name}
                </Link>
              )}
            </li>
          ))}
        </ol>
      </nav>
      <div className="toolbar" role="toolbar" aria-label={fileTexts.folderTools}>
        {(facts.isFolder || path !== '/') && (
          <Button variant="primary" onPress={() => save(link.contentUrl(path), '')}>
            <Icon name="download" />
            {texts.downloadAll}
          </Button>
        )}
        {selectedEntries.length > 0 && (
          <Button onPress={() => download(selectedEntries)}>
            <Icon name="download" />
            {isArchive(selectedEntries) ? fileTexts.downloadZip : fileTexts.download}
          </Button>
        )}
        {facts.downloadsLeft !== null && <span className="help">{texts.downloadsLeft(facts.downloadsLeft)}</span>}
      </div>
      {error && <ErrorBox error={error} retry={refetch} />}
      {isPending && !error && <Loading label={fileTexts.loadingFolder} />}
      {data?.length === 0 && (
        <div className="empty">
          <Icon name="folder" />
          <p className="empty-title">{fileTexts.empty}</p>
        </div>
      )}
      {isGallery && (
        <Suspense fallback={<Loading label={fileTexts.loadingFolder} />}>
          <Gallery key={path} {...viewProps} folder={{ providerId: token, path }} />
        </Suspense>
      )}
      {sorted.length > 0 && !isGallery && (
        <FileTable
          key={path}
          {...viewProps}
          view="list"
          order={order}
          onSort={column => setOrder({ column, descending: order.column === column && !order.descending })}
          dragging={null}
        />
      )}
      <p className="folder-status" role="status">
        {data && fileTexts.items(data.length)}
        {selectedEntries.length > 0 && ` · ${fileTexts.selected(selectedEntries.length)}`}
      </p>
      {menu && (
        <Suspense>
          <EntryMenu at={menu} actions={actions} onClose={() => setMenu(null)} />
        </Suspense>
      )}
      <Suspense>
        {previewed && (
          <ViewerFrame
            file={previewed}
            files={viewable}
            viewedOf={viewedOf}
            onShow={show}
            onDownload={() => download([previewed])}
            onClose={close}
          />
        )}
      </Suspense>
    </main>
  )
}

function nothing(): void {}

function isViewable(entry: Entry): entry is FileEntry {
  return entry.__typename === 'File' && viewerKind(entry) !== null
}

/** The number of photos from which a folder without other files is a gallery. */
const fewPhotos = 3

function isAllPhotos(entries: readonly Entry[]): boolean {
  const photos = entries.filter(isPhoto)
  return photos.length >= fewPhotos && entries.every(entry => entry.__typename === 'Folder' || isPhoto(entry))
}

/** Returns whether entries are downloaded as a ZIP archive: one folder, or several entries. */
function isArchive([first, ...others]: readonly Entry[]): boolean {
  return others.length > 0 || first?.__typename === 'Folder'
}

function asEntry({ kind, name, path, size, mimeType, modifiedAt }: SharedEntry, link: ShareLink): Entry {
  const at = modifiedAt?.toISOString() ?? null
  if (kind === 'folder') return { __typename: 'Folder', name, modifiedAt: at }
  const file = { __typename: 'File', name, modifiedAt: at, size, mimeType, thumbnailUrl: null } as const
  return viewerKind(file) === 'image' ? { ...file, thumbnailUrl: link.thumbnailUrl(path) } : file
}

/** Returns a file as viewers read it through the link. */
function sharedFile(link: ShareLink, path: string, entry: FileEntry): ViewedFile {
  const { name, mimeType, size, modifiedAt } = entry
  return {
    name,
    kind: viewerKind(entry),
    mimeType,
    size,
    modifiedAt,
    // Another link can have a file of the same path.
    id: link.contentUrl(path),
    read: (range, signal) => link.download(path, { signal, ...(range && { range }) }),
    link: async () => link.contentUrl(path, { inline: true }),
    picture: pixels => (entry.thumbnailUrl === null ? null : link.thumbnailUrl(path, pixels)),
    rendition: async signal => ({ body: await link.rendition(path, { signal }), fileSize: null, etag: null }),
  }
}
