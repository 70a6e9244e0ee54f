/**
 * The viewer of archives. The file enters, and its entries leave as a list by folder. Only the directory at the end of a ZIP file
 * is read. A tape archive has none, so it is read from its start.
 */
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { StowageError } from '../../../../api/client.ts'
import { common } from '../../../../texts/common.ts'
import { compareNames, formatBytes, formatMinute, formatNumber } from '../../../../texts/format.ts'
import { texts } from '../../../../texts/viewers.ts'
import { Button } from '../../../../ui/button.tsx'
import { ErrorBox } from '../../../../ui/error-box.tsx'
import { Icon } from '../../../../ui/icons.tsx'
import { Loading } from '../../../../ui/loading.tsx'
import { EntryIcon } from '../../../entry-icon.tsx'
import { FileCard } from '../../file-card.tsx'
import { contentKey, type ViewedFile, type ViewerProps } from '../../viewer.ts'
import type { ArchivedEntry } from './entry.ts'
import './archive.css'

interface ArchiveListing {
  entries: readonly ArchivedEntry[]
  /** Whether the whole archive was listed. */
  isAll: boolean
}

/** The maximum number of entries that are listed. */
const maxListed = 20_000
/** Each row is an element. */
const maxRows = 1000

/** Lists what an archive contains, by folder. The files in it are not read. */
export function ArchiveViewer({ file, onDownload }: ViewerProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ['archive', ...contentKey(file)],
    queryFn: ({ signal }) => listArchive(file, signal),
    gcTime: 0,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (error instanceof StowageError) return <ErrorBox error={error} retry={refetch} />
  if (error) return <FileCard file={file} note={texts.archiveFailed} onDownload={onDownload} />
  return data ? <Listing name={file.name} listing={data} /> : <Loading label={common.loading} />
}

function Listing({ name, listing: { entries, isAll } }: { name: string; listing: ArchiveListing }) {
  /** The names of the open folder and of those above it. */
  const [folder, setFolder] = useState<readonly string[]>([])
  const rows = useMemo(() => rowsOf(entries, folder), [entries, folder])
  const bytes = entries.reduce((sum, { size }) => sum + (size ?? 0), 0)
  const count = entries.filter(({ isFolder }) => !isFolder).length
  return (
    <section className="archive" aria-label={name}>
      <div className="archive-head">
        <nav aria-label={texts.path} className="archive-path">
          {[name, ...folder].map((step, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a step is its place in the path
            <span key={index}>
              {index === folder.length ? (
                <strong>{step}</strong>
              ) : (
                <Button variant="quiet" onPress={() => setFolder(folder.slice(0, index))}>
                  {step}
                </Button>
              )}
            </span>
          ))}
        </nav>
        <p className="help">{texts.archiveHolds(count, formatBytes(bytes), isAll)}</p>
      </div>
      {rows.length === 0 && <p className="archive-note">{texts.archiveEmpty}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the rows scroll */}
      <section className="archive-rows" tabIndex={0} aria-label={folder.at(-1) ?? name}>
        <ul>
          {rows.slice(0, maxRows).map(row => (
            <li key={`${row.isFolder}/${row.name}`}>
              <EntryIcon
                entry={
                  row.isFolder
                    ? { __typename: 'Folder', name: row.name }
                    : { __typename: 'File', name: row.name, mimeType: null }
                }
              />
              {row.isFolder ? (
                <Button variant="quiet" onPress={() => setFolder([...folder, row.name])}>
                  <bdi>{row.name}</bdi>
                </Button>
              ) : (
                <span className="archive-name">
                  <bdi>{row.name}</bdi>
                  {row.isEncrypted && <Icon name="lock" />}
                </span>
              )}
              <span className="archive-size">
                {row.isFolder ? texts.archivedFiles(row.count) : row.size !== null && formatBytes(row.size)}
              </span>
              <span className="archive-time">{row.modifiedAt && formatMinute(row.modifiedAt.toISOString())}</span>
            </li>
          ))}
        </ul>
        {rows.length > maxRows && <p className="archive-note">{texts.firstEntries(formatNumber(maxRows))}</p>}
      </section>
    </section>
  )
}

interface Row extends Omit<ArchivedEntry, 'path'> {
  name: string
  /** The files in a folder and below it. */
  count: number
}

/** Returns what lies in a folder: its folders, which an archive may leave out, and then its files. */
function rowsOf(entries: readonly ArchivedEntry[], folder: readonly string[]): Row[] {
  const folders = new Map<string, Row>()
  const found: Row[] = []
  for (const { path, ...entry } of entries) {
    if (path.length <= folder.length || folder.some((name, at) => path[at] !== name)) continue
    const name = path[folder.length] ?? ''
    if (path.length === folder.length + 1 && !entry.isFolder) {
      found.push({ ...entry, name, count: 0 })
      continue
    }
    const known = folders.get(name)
    const row = known ?? { name, isFolder: true, size: null, modifiedAt: null, isEncrypted: false, count: 0 }
    if (!known) folders.set(name, row)
    if (entry.isFolder && path.length === folder.length + 1) row.modifiedAt = entry.modifiedAt
    if (!entry.isFolder) row.count += 1
  }
  const byName = (rows: Row[]) => rows.sort((a, b) => compareNames(a.name, b.name))
  return [...byName([...folders.values()]), ...byName(found)]
}

/** @throws StowageError; any other error if the file is damaged, or no archive of this kind */
async function listArchive(file: ViewedFile, signal: AbortSignal): Promise<ArchiveListing> {
  const isTape = /\.(?:tar|tgz|tar\.gz)$/i.test(file.name)
  const { entriesOf } = isTape ? await import('./tape.ts') : await import('./zip.ts')
  const entries: ArchivedEntry[] = []
  for await (const entry of entriesOf(file, signal)) {
    if (entry === 'cut' || entries.length === maxListed) return { entries, isAll: false }
    if (entry.path.length > 0) entries.push(entry)
  }
  return { entries, isAll: true }
}
