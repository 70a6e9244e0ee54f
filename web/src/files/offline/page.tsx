/**
 * Files that this device keeps, so that they open without a network. Entries enter, and the copies in the cache of the browser leave.
 *
 * This file has the page of the kept files, and the one that stands in place of every page without a network.
 */
import { useEffect, useState, useSyncExternalStore } from 'react'
import { keptCaches } from '../../api/device.ts'
import { saveBlob } from '../../lib/save-file.ts'
import { common } from '../../texts/common.ts'
import { texts as fileTexts } from '../../texts/files.tsx'
import { formatBytes } from '../../texts/format.ts'
import { texts } from '../../texts/offline.ts'
import { Logo } from '../../ui/brand.tsx'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { PageHead, PageTitle } from '../../ui/page.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { notifyError } from '../../ui/toasts.tsx'
import { EntryIcon } from '../entry-icon.tsx'
import { keptUrl, useKept } from './kept.ts'
import { type KeptFile, listKept, maxBytes, readKeptFile, removeAll } from './kept-files.ts'
import './offline.css'

/** The page of kept files. */
export function KeptPage() {
  return (
    <main className="page rows-page">
      <PageHead title={texts.title} />
      <p>{texts.help}</p>
      <KeptFiles />
    </main>
  )
}

/** Stands in place of every page while the server cannot be reached. */
export function OfflinePage({ retry }: { retry: () => unknown }) {
  const title = useIsOnline() ? texts.away : texts.offline
  return (
    <main className="page rows-page offline-page">
      <PageTitle>{title}</PageTitle>
      <Logo />
      <h1>{title}</h1>
      <Button onPress={() => void retry()}>{common.tryAgain}</Button>
      <h2>{texts.title}</h2>
      <KeptFiles />
    </main>
  )
}

/** Returns whether the device has a network. The server can be away nevertheless. */
function useIsOnline(): boolean {
  return useSyncExternalStore(followNetwork, () => navigator.onLine)
}

function followNetwork(onChange: () => void): () => void {
  addEventListener('online', onChange)
  addEventListener('offline', onChange)
  return () => {
    removeEventListener('online', onChange)
    removeEventListener('offline', onChange)
  }
}

interface ShownFile extends KeptFile {
  cacheName: string
}

function KeptFiles() {
  const kept = useKept()
  const [files, setFiles] = useState<readonly ShownFile[] | null>(null)
  const [error, setError] = useState<unknown>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list is read again after each change of what is kept
  useEffect(() => {
    let isCurrent = true
    listAll().then(found => {
      if (isCurrent) setFiles(found)
    }, setError)
    return () => {
      isCurrent = false
    }
  }, [kept])
  if (error !== null) return <ErrorBox error={error} />
  if (!files) return <Loading label={common.loading} />
  if (files.length === 0) return <p className="aside-text">{texts.nothing}</p>
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  return (
    <div className="kept-files">
      <p className="aside-text">{texts.usage(files.length, bytes, maxBytes)}</p>
      <RowTable label={texts.title} columns={[common.name, fileTexts.size, texts.kept]}>
        {files.map(file => (
          <Row key={keptUrl(file)} file={file} />
        ))}
      </RowTable>
    </div>
  )
}

async function listAll(): Promise<ShownFile[]> {
  const names = await keptCaches()
  const lists = await Promise.all(
    names.map(async cacheName => (await listKept(cacheName)).map(file => ({ ...file, cacheName }))),
  )
  return lists.flat()
}

function Row({ file }: { file: ShownFile }) {
  const { name, path, size, keptAt, type, cacheName } = file
  const remove = () => void removeAll(cacheName, [file]).catch(notifyError)
  return (
    <tr>
      <td>
        <button type="button" className="kept-name" title={path} onClick={() => void open(file).catch(notifyError)}>
          <EntryIcon entry={{ __typename: 'File', name, mimeType: type }} />
          <bdi>{name}</bdi>
        </button>
      </td>
      <td data-label={fileTexts.size}>{formatBytes(size)}</td>
      <td data-label={texts.kept}>
        <Time at={keptAt} />
      </td>
      <td className="actions-cell">
        <div className="actions">
          <Button aria-label={common.actionOn(texts.remove, name)} onPress={remove}>
            {common.remove}
          </Button>
        </div>
      </td>
    </tr>
  )
}

/** Types that a browser shows and that run nothing. A page or a drawing with scripts would act for the person. */
const shown = /^(?:image\/(?:png|jpeg|gif|webp|avif)|text\/plain)(?:;|$)/
/** Milliseconds after which the other page has surely read the content. */
const readingTime = 60_000

/** Shows a picture or a plain text in a page of its own, and saves every other file. */
async function open({ cacheName, ...file }: ShownFile): Promise<void> {
  const content = await readKeptFile(cacheName, file)
  if (!content) throw new Error(texts.gone)
  const { type, name } = file
  if (type === null || !shown.test(type)) return saveBlob(content, name)
  const safe = type.startsWith('text/') ? 'text/plain; charset=utf-8' : type
  const url = URL.createObjectURL(new Blob([content], { type: safe }))
  // A browser that allows no other page saves the file.
  if (!window.open(url)) saveBlob(content, name)
  setTimeout(() => URL.revokeObjectURL(url), readingTime)
}
