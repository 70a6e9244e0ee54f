import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, Suspense, useState } from 'react'
import { StowageError, stowage } from '../../api/client.ts'
import { parentPath, type StorageLocation } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { usePermissions } from '../../api/session.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { formatBytes } from '../../texts/format.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Loading } from '../../ui/loading.tsx'
import { languageOf } from './file-types.ts'

/** Bytes. */
const maxShown = 512 * 1024

interface Beginning {
  text: string
  isAll: boolean
  /** Whether the bytes are not UTF-8, so that the characters are a guess. */
  isGuess: boolean
  /** Whether the text is UTF-8 that can be written again without changing other bytes. */
  isPlain: boolean
  /** The version that was read; null if the back end has no versions. */
  etag: string | null
}

async function loadBeginning(file: StorageLocation, signal: AbortSignal): Promise<Beginning> {
  const range = { start: 0, end: maxShown - 1 }
  const { body, fileSize, etag } = await stowage.files.download({ ...file, range, signal }).catch(error => {
    // An empty file has no satisfiable range.
    if (error instanceof StowageError && error.status === 416) return stowage.files.download({ ...file, signal })
    throw error
  })
  const bytes = new Uint8Array(await new Response(body).arrayBuffer())
  const isAll = fileSize === null ? bytes.length < maxShown : bytes.length === fileSize
  return { ...decode(bytes), isAll, etag }
}

/** Decodes UTF-8 and UTF-16, and everything else as Windows-1252, which contains Latin-1. */
function decode(bytes: Uint8Array): Pick<Beginning, 'text' | 'isGuess' | 'isPlain'> {
  // Streaming mode ignores a character that is cut at the end.
  const as = (encoding: string, fatal: boolean) => new TextDecoder(encoding, { fatal }).decode(bytes, { stream: true })
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { text: as('utf-16le', false), isGuess: false, isPlain: false }
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { text: as('utf-16be', false), isGuess: false, isPlain: false }
  try {
    const text = as('utf-8', true)
    return { text, isGuess: false, isPlain: isRestorable(text, bytes) }
  } catch {
    return { text: as('windows-1252', false), isGuess: true, isPlain: false }
  }
}

/** A text field has only line feeds, and the decoder drops a byte order mark. */
function isRestorable(text: string, bytes: Uint8Array): boolean {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  const lines = text.split('\n').length - 1
  const windowsLines = text.split('\r\n').length - 1
  const returns = text.split('\r').length - 1
  return !isMarked && returns === windowsLines && (windowsLines === 0 || windowsLines === lines)
}

/** Loads the beginning of a text file. */
export function useBeginning(file: StorageLocation) {
  return useQuery({
    queryKey: ['text', file],
    queryFn: ({ signal }) => loadBeginning(file, signal),
    gcTime: 0,
    // A reload would replace what the person has seen and may edit.
    staleTime: Number.POSITIVE_INFINITY,
  })
}

const TextEditor = lazyPart(async () => (await import('./text-editor.tsx')).TextEditor)

interface TextFile {
  file: StorageLocation
  name: string
  type: string | null
  onDirty: (isDirty: boolean) => void
}

/** Shows the beginning of a text file with `children`, and lets people edit a small one. */
function TextView({
  file,
  name,
  type,
  onDirty,
  children,
}: TextFile & { children: (beginning: Beginning) => ReactNode }) {
  const { canWrite } = usePermissions()
  const client = useQueryClient()
  const { data, error, refetch } = useBeginning(file)
  const [isEditing, setEditing] = useState(false)
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label={common.loading} />
  const reload = async () => {
    setEditing(false)
    await refetch()
    const folder = { ...file, path: parentPath(file.path) }
    await client.invalidateQueries({ queryKey: queryKeys.listing(folder) })
  }
  if (isEditing && data.etag !== null) {
    return (
      <Suspense fallback={<Loading label={common.loading} />}>
        <TextEditor
          file={file}
          name={name}
          original={data.text}
          etag={data.etag}
          type={type}
          onDirty={onDirty}
          onSaved={() => void reload()}
          onDiscard={() => void reload()}
        />
      </Suspense>
    )
  }
  return (
    <div className="preview-text">
      {!data.isAll && <p className="notice">{texts.onlyFirst(formatBytes(maxShown))}</p>}
      {data.isGuess && <p className="notice">{texts.notUtf8}</p>}
      {canWrite && data.isAll && data.isPlain && data.etag !== null && (
        <div className="editor-bar">
          <Button onPress={() => setEditing(true)}>
            <Icon name="pencil" />
            {common.edit}
          </Button>
        </div>
      )}
      {children(data)}
    </div>
  )
}

function PlainText({ text }: { text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls
    <pre tabIndex={0}>{text}</pre>
  )
}

const MarkdownView = lazyPart(async () => (await import('./markdown.tsx')).MarkdownView)
const CodeView = lazyPart(async () => (await import('./code-view.tsx')).CodeView)

/** Shows Markdown as a document, program code in colors, and other texts as they are. */
export function DocumentView(file: TextFile) {
  const { name } = file
  const language = languageOf(name)
  if (/\.(?:md|markdown)$/i.test(name)) {
    return (
      <TextView {...file}>
        {({ text }) => (
          <Suspense fallback={<PlainText text={text} />}>
            <MarkdownView text={text} name={name} />
          </Suspense>
        )}
      </TextView>
    )
  }
  if (language === null) return <TextView {...file}>{({ text }) => <PlainText text={text} />}</TextView>
  return (
    <TextView {...file}>
      {({ text }) => (
        <Suspense fallback={<PlainText text={text} />}>
          <CodeView text={text} language={language} />
        </Suspense>
      )}
    </TextView>
  )
}
