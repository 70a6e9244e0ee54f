import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { stowage } from '../../api/client.ts'
import { childPath, nameOfPath, type StorageLocation, validateName } from '../../api/locations.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { Choices } from '../../ui/choices.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { addToListings } from '../listing.ts'
import type { Entry } from '../operations.ts'
import { viewerKind } from '../preview/file-types.ts'

type Ending = '.txt' | '.md'

const choices = [
  { value: '.txt', title: texts.newFiles.plainText },
  { value: '.md', title: texts.newFiles.markdown },
] as const

/** Returns a name with an ending, instead of the ending of the other type. */
const withEnding = (name: string, ending: Ending) => name.replace(/\.(?:txt|md)$/i, '') + ending

const isMarkdown = (name: string) => /\.md$/i.test(name)

/** A name without an ending gets that of the chosen type. */
const fullName = (name: string, ending: Ending) => (name.includes('.') ? name : name + ending)

/** Creates an empty text file, and never replaces one. The dialog stays open until the server has stored the file. */
export function NewFileDialog({
  folder,
  onCreated,
  onClose,
}: {
  folder: StorageLocation
  onCreated: (entry: Entry) => void
  onClose: () => void
}) {
  const client = useQueryClient()
  const [ending, setEnding] = useState<Ending>('.txt')
  const [name, setName] = useState(withEnding(texts.newFiles.suggestion, ending))
  const field = useRef<HTMLDivElement>(null)
  // The suggestion without its ending is selected, so that typing replaces it.
  useEffect(() => field.current?.querySelector('input')?.setSelectionRange(0, texts.newFiles.suggestion.length), [])
  const validate = (name: string) => {
    const isText = viewerKind({ name: fullName(name, ending), mimeType: null }) === 'text'
    return validateName(name) ?? (isText ? null : texts.newFiles.onlyTexts)
  }
  const create = useMutation({
    mutationFn: async () => {
      const wanted = fullName(name, ending)
      const mimeType = isMarkdown(wanted) ? 'text/markdown' : 'text/plain'
      const path = childPath(folder.path, wanted)
      const stored = await stowage.files.upload({
        ...folder,
        path,
        body: new Blob([]),
        type: mimeType,
        conflict: 'fail',
      })
      addToListings(client, [{ ...folder, path: stored, size: 0, mimeType }])
      const modifiedAt = new Date().toISOString()
      onCreated({ __typename: 'File', name: nameOfPath(stored), modifiedAt, size: 0, mimeType, thumbnailUrl: null })
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog
      title={texts.newFile}
      action={common.create}
      submit={create}
      isValid={name !== '' && validate(name) === null}
      onClose={onClose}
    >
      <Choices
        label={texts.type}
        layout="row"
        choices={choices}
        value={ending}
        onChange={chosen => {
          setEnding(chosen)
          setName(name === '' ? '' : withEnding(name, chosen))
        }}
      />
      <div ref={field}>
        <TextField
          label={common.name}
          value={name}
          onChange={typed => {
            setName(typed)
            if (/\.(?:txt|md)$/i.test(typed)) setEnding(isMarkdown(typed) ? '.md' : '.txt')
          }}
          validate={validate}
          validationBehavior="aria"
          isRequired
          autoFocus
          autoComplete="off"
          spellCheck="false"
        />
      </div>
    </FormDialog>
  )
}
