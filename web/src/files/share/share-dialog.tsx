import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { childPath, type StorageLocation } from '../../api/paths.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { usePermissions } from '../../api/use-session.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/shares.tsx'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import type { Entry } from '../operations.ts'
import { CreateShareMutation, type NewShare, type ShareKind } from './operations.ts'

const megabyte = 1_000_000

/** Creates a share link for the selected entries, and shows it. */
export function ShareDialog({
  folder,
  entries,
  onClose,
}: {
  folder: StorageLocation
  entries: readonly Entry[]
  onClose: () => void
}) {
  const [made, setMade] = useState<NewShare | null>(null)
  return made ? (
    <ReadyLink url={made.url} onClose={onClose} />
  ) : (
    <ShareForm folder={folder} entries={entries} onCreated={setMade} onClose={onClose} />
  )
}

function ShareForm({
  folder,
  entries,
  onCreated,
  onClose,
}: {
  folder: StorageLocation
  entries: readonly Entry[]
  onCreated: (made: NewShare) => void
  onClose: () => void
}) {
  const { canWrite } = usePermissions()
  const client = useQueryClient()
  const [kind, setKind] = useState<ShareKind>('VIEW')
  const [password, setPassword] = useState('')
  const [lastDay, setLastDay] = useState('')
  const [note, setNote] = useState('')
  const [limit, setLimit] = useState('')
  const [fileTypes, setFileTypes] = useState('')
  const mayReceive = canWrite && entries.length === 1 && entries[0]?.__typename === 'Folder'
  const kinds: readonly ShareKind[] = mayReceive ? ['VIEW', 'DROP'] : ['VIEW']
  const create = useMutation({
    mutationFn: () => {
      const [path = folder.path, ...morePaths] = entries.map(({ name }) => childPath(folder.path, name))
      const isDrop = kind === 'DROP'
      const types = fileTypes.split(',').flatMap(type => type.trim() || [])
      const input = {
        providerId: folder.providerId,
        path,
        kind,
        password: password === '' ? null : password,
        // The last day counts in full, in the time zone of the browser.
        expiresAt: lastDay === '' ? null : new Date(`${lastDay}T23:59:59`).toISOString(),
        note: note === '' ? null : note,
        maxDownloads: isDrop || limit === '' ? null : Number(limit),
        maxBytes: !isDrop || limit === '' ? null : Number(limit) * megabyte,
        ...(morePaths.length > 0 && { morePaths }),
        ...(isDrop && types.length > 0 && { fileTypes: types }),
      }
      return ask(CreateShareMutation, { input })
    },
    onSuccess: ({ createShare }) => {
      void client.invalidateQueries({ queryKey: queryKeys.shares })
      onCreated(createShare)
    },
  })
  return (
    <FormDialog
      title={texts.title(entries.map(({ name }) => name))}
      size="large"
      action={texts.create}
      submit={create}
      onClose={onClose}
    >
      {mayReceive && (
        <Choices
          label={texts.kind}
          choices={kinds.map(value => ({ value, title: texts.kinds[value], help: texts.kindHelp[value] }))}
          value={kind}
          onChange={setKind}
        />
      )}
      <TextField
        label={texts.password}
        description={texts.passwordHelp}
        type="password"
        autoComplete="new-password"
        minLength={8}
        value={password}
        onChange={setPassword}
      />
      <TextField
        label={texts.lastDay}
        description={texts.lastDayHelp}
        type="date"
        value={lastDay}
        onChange={setLastDay}
        validate={day => (day && new Date(`${day}T23:59:59`) <= new Date() ? texts.futureDate : null)}
      />
      <TextField label={texts.note} value={note} onChange={setNote} maxLength={2000} autoComplete="off" />
      <details className="share-limits">
        <summary>{texts.moreOptions}</summary>
        <TextField
          label={kind === 'VIEW' ? texts.maxDownloads : texts.maxMegabytes}
          {...(kind === 'VIEW' && { description: texts.maxDownloadsHelp })}
          inputMode="numeric"
          pattern="[1-9][0-9]{0,8}"
          value={limit}
          onChange={setLimit}
        />
        {kind === 'DROP' && (
          <TextField
            label={texts.fileTypes}
            description={texts.fileTypesHelp}
            value={fileTypes}
            onChange={setFileTypes}
            autoComplete="off"
          />
        )}
      </details>
    </FormDialog>
  )
}

function ReadyLink({ url, onClose }: { url: string; onClose: () => void }) {
  return (
    <Dialog title={texts.ready} onClose={onClose} size="large">
      <p>{texts.readyHelp}</p>
      <code className="secret" data-testid="share-link">
        {url}
      </code>
      <div className="actions">
        <CopyButton text={url} label={texts.copyLink} />
        <a className="button" href={url} target="_blank" rel="noreferrer">
          {texts.openLink}
        </a>
      </div>
      <div className="dialog-actions">
        <Button variant="primary" onPress={onClose}>
          {common.done}
        </Button>
      </div>
    </Dialog>
  )
}
