import { useQueryClient } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import { loadPart } from '../../api/load-part.ts'
import { parentPath, type StorageLocation } from '../../api/paths.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { usePermissions } from '../../api/session.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { formatBytes } from '../../texts/format.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Loading } from '../../ui/loading.tsx'
import { type Beginning, maxShown, useBeginning } from './beginning.ts'

const TextEditor = lazy(async () => ({ default: (await loadPart(import('./edit/text-editor.tsx'))).TextEditor }))

export interface TextFile {
  file: StorageLocation
  name: string
  type: string | null
  onDirty: (isDirty: boolean) => void
}

/** Shows the beginning of a text file with `children`, and lets people edit a small one. */
export function TextView({
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

export function PlainText({ text }: { text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls
    <pre tabIndex={0}>{text}</pre>
  )
}
