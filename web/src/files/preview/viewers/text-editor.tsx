import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { StowageError, stowage } from '../../../api/client.ts'
import { nameOfPath, type StorageLocation } from '../../../api/locations.ts'
import { common } from '../../../texts/common.ts'
import { texts } from '../../../texts/viewers.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorBox } from '../../../ui/error-box.tsx'
import { notify } from '../../../ui/toasts.tsx'

const uploadPath = '/api/upload/proxy'

/** Restores the line endings that a text field does not have. */
function bytesOf(text: string, original: string): string {
  return original.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text
}

/**
 * Replaces exactly the version that was read.
 * @throws StowageError with the reason PRECONDITION_FAILED if somebody else changed the file meanwhile
 */
async function saveText(
  { providerId, path }: StorageLocation,
  { text, original, etag, type }: { text: string; original: string; etag: string; type: string | null },
): Promise<void> {
  const query = new URLSearchParams({ providerId, path, conflict: 'replace' })
  const headers = { 'if-match': etag, 'content-type': type ?? 'text/plain' }
  await stowage.request(`${uploadPath}?${query}`, { method: 'POST', headers, body: bytesOf(text, original) })
}

/** Stores the text beside the file and returns the name that the server chose. @throws StowageError */
async function saveCopy(
  { providerId, path }: StorageLocation,
  { text, original, type }: { text: string; original: string; type: string | null },
): Promise<string> {
  const body = new Blob([bytesOf(text, original)])
  const stored = await stowage.files.upload({ providerId, path, body, conflict: 'rename', ...(type && { type }) })
  return nameOfPath(stored)
}

/** Edits a small text file. Nobody's change is lost: a version that somebody else stored meanwhile is never replaced. */
export function TextEditor({
  file,
  name,
  original,
  etag,
  type,
  onDirty,
  onSaved,
  onDiscard,
}: {
  file: StorageLocation
  name: string
  /** The text of the file, and its version. */
  original: string
  etag: string
  type: string | null
  /** Called when the text begins or ceases to differ from the file. */
  onDirty: (isDirty: boolean) => void
  onSaved: () => void
  onDiscard: () => void
}) {
  const [shown] = useState(() => original.replaceAll('\r\n', '\n'))
  const [text, setText] = useState(shown)
  const isDirty = text !== shown
  useEffect(() => {
    if (!isDirty) return
    const onLeave = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', onLeave)
    return () => removeEventListener('beforeunload', onLeave)
  }, [isDirty])
  useEffect(() => () => onDirty(false), [onDirty])
  const save = useMutation({
    mutationFn: () => saveText(file, { text, original, etag, type }),
    onSuccess: () => {
      notify(common.saved)
      onSaved()
    },
  })
  const copy = useMutation({
    mutationFn: () => saveCopy(file, { text, original, type }),
    onSuccess: copyName => {
      notify(texts.savedAs(copyName))
      onSaved()
    },
  })
  const isOutdated = save.error instanceof StowageError && save.error.reason === 'PRECONDITION_FAILED'
  const isBusy = save.isPending || copy.isPending
  return (
    <div className="preview-text">
      <div className="editor-bar" role="toolbar" aria-label={texts.editor}>
        <Button variant="primary" isDisabled={!isDirty || isOutdated} isPending={isBusy} onPress={() => save.mutate()}>
          {common.save}
        </Button>
        <Button isDisabled={isBusy} onPress={onDiscard}>
          {isDirty ? texts.discard : common.cancel}
        </Button>
      </div>
      {isOutdated ? (
        <div className="notice" role="alert">
          <p>{texts.changedMeanwhile}</p>
          <div className="inline-row">
            <Button isPending={copy.isPending} onPress={() => copy.mutate()}>
              {texts.saveCopy}
            </Button>
            <Button variant="danger" isDisabled={isBusy} onPress={onDiscard}>
              {texts.showTheirs}
            </Button>
          </div>
        </div>
      ) : (
        save.error && <ErrorBox error={save.error} />
      )}
      {copy.error && <ErrorBox error={copy.error} />}
      <textarea
        className="editor"
        aria-label={texts.textOf(name)}
        spellCheck={false}
        // biome-ignore lint/a11y/noAutofocus: the person has just pressed "Edit"
        autoFocus
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          // With the same update, so that a key that follows at once cannot close the editor.
          onDirty(target.value !== shown)
        }}
        onKeyDown={event => {
          if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          if (isDirty && !isBusy && !isOutdated) save.mutate()
        }}
      />
    </div>
  )
}
