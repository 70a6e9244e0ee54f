import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, Suspense, useState } from 'react'
import { parentPath } from '../../api/locations.ts'
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
import { type Beginning, type ContentLocation, loadBeginning } from './load-text.ts'

/** Bytes. */
const maxShown = 512 * 1024

/** Loads the beginning of a text file. */
export function useBeginning(at: ContentLocation) {
  return useQuery({
    queryKey: ['text', at],
    queryFn: ({ signal }) => loadBeginning(at, maxShown, signal),
    gcTime: 0,
    // A reload would replace what the person has seen and may edit.
    staleTime: Number.POSITIVE_INFINITY,
  })
}

const TextEditor = lazyPart(async () => (await import('./text-editor.tsx')).TextEditor)

interface TextFile {
  at: ContentLocation
  name: string
  type: string | null
  /** Undefined for a text that cannot be edited. */
  onDirty: ((isDirty: boolean) => void) | undefined
}

/** Shows the beginning of a text file with `children`, and lets people edit a small one. */
function TextView({ at, name, type, onDirty, children }: TextFile & { children: (beginning: Beginning) => ReactNode }) {
  const { canWrite } = usePermissions()
  const client = useQueryClient()
  const { data, error, refetch } = useBeginning(at)
  const [isEditing, setEditing] = useState(false)
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label={common.loading} />
  const reload = async () => {
    setEditing(false)
    await refetch()
    const folder = { ...at, path: parentPath(at.path) }
    await client.invalidateQueries({ queryKey: queryKeys.listing(folder) })
  }
  if (isEditing && onDirty && data.etag !== null) {
    return (
      <Suspense fallback={<Loading label={common.loading} />}>
        <TextEditor
          file={at}
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
      {canWrite && onDirty && data.isAll && data.isPlain && data.etag !== null && (
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
