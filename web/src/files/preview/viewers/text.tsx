import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, Suspense, useState } from 'react'
import { parentPath } from '../../../api/locations.ts'
import { queryKeys } from '../../../api/query-keys.ts'
import { lazyPart } from '../../../lib/load-part.ts'
import { common } from '../../../texts/common.ts'
import { formatBytes } from '../../../texts/format.ts'
import { texts } from '../../../texts/viewers.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorBox } from '../../../ui/error-box.tsx'
import { Icon } from '../../../ui/icons.tsx'
import { Loading } from '../../../ui/loading.tsx'
import type { ViewedFile, ViewerProps } from '../viewer.ts'
import { languageOf } from './languages.ts'
import { type Beginning, loadBeginning } from './load-text.ts'
import './text.css'

/** Bytes. */
const maxShown = 512 * 1024

/** Loads the beginning of a text file. */
export function useBeginning({ id, read }: ViewedFile) {
  return useQuery({
    queryKey: ['text', id],
    queryFn: ({ signal }) => loadBeginning(read, maxShown, signal),
    gcTime: 0,
    // A reload would replace what the person has seen and may edit.
    staleTime: Number.POSITIVE_INFINITY,
  })
}

const TextEditor = lazyPart(async () => (await import('./text-editor.tsx')).TextEditor)

/** Shows the beginning of a text file with `children`, and lets people edit a small one. */
function TextView({ file, editing, children }: ViewerProps & { children: (beginning: Beginning) => ReactNode }) {
  const client = useQueryClient()
  const { data, error, refetch } = useBeginning(file)
  const [isEditing, setEditing] = useState(editing?.isEditing ?? false)
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label={common.loading} />
  const reload = async () => {
    setEditing(false)
    await refetch()
    if (!editing) return
    const { providerId, path } = editing.location
    await client.invalidateQueries({ queryKey: queryKeys.listing({ providerId, path: parentPath(path) }) })
  }
  if (isEditing && editing && data.etag !== null) {
    return (
      <Suspense fallback={<Loading label={common.loading} />}>
        <TextEditor
          file={editing.location}
          name={file.name}
          original={data.text}
          etag={data.etag}
          type={file.mimeType}
          onDirty={editing.onDirty}
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
      {editing && data.isAll && data.isPlain && data.etag !== null && (
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
export function TextViewer(props: ViewerProps) {
  const { name } = props.file
  const language = languageOf(name)
  if (/\.(?:md|markdown)$/i.test(name)) {
    return (
      <TextView {...props}>
        {({ text }) => (
          <Suspense fallback={<PlainText text={text} />}>
            <MarkdownView text={text} name={name} />
          </Suspense>
        )}
      </TextView>
    )
  }
  if (language === null) return <TextView {...props}>{({ text }) => <PlainText text={text} />}</TextView>
  return (
    <TextView {...props}>
      {({ text }) => (
        <Suspense fallback={<PlainText text={text} />}>
          <CodeView text={text} language={language} />
        </Suspense>
      )}
    </TextView>
  )
}
