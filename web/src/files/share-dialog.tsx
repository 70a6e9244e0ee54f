import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { ask } from '../api/client.ts'
import { graphql, type ResultOf } from '../api/graphql.ts'
import { childPath, type StorageLocation } from '../api/locations.ts'
import { queryKeys } from '../api/query-keys.ts'
import { usePermissions, useSession } from '../api/session.ts'
import { lazyPart } from '../lib/load-part.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/shares.tsx'
import { Choices } from '../ui/choices.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Dialog, DialogEnd, FormDialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { changedSettings, ShareFields, useShareTexts } from '../ui/share-fields.tsx'
import type { Entry } from './operations.ts'

const CreateShareMutation = graphql(`
  mutation CreateShare($input: CreateShareInput!) {
    createShare(input: $input) { url share { id } }
  }
`)

type NewShare = ResultOf<typeof CreateShareMutation>['createShare']
type ShareKind = 'VIEW' | 'DROP'

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
  const [created, setCreated] = useState<NewShare | null>(null)
  return created ? (
    <ReadyLink url={created.url} onClose={onClose} />
  ) : (
    <ShareForm folder={folder} entries={entries} onCreated={setCreated} onClose={onClose} />
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
  onCreated: (created: NewShare) => void
  onClose: () => void
}) {
  const { canWrite } = usePermissions()
  const client = useQueryClient()
  const [kind, setKind] = useState<ShareKind>('VIEW')
  const { sendsEmail } = useSession().workspace
  const { stored, values, change } = useShareTexts(null, { notify: sendsEmail })
  const [recipients, setRecipients] = useState('')
  const canReceiveFiles = canWrite && entries.length === 1 && entries[0]?.__typename === 'Folder'
  const allowedKinds: readonly ShareKind[] = canReceiveFiles ? ['VIEW', 'DROP'] : ['VIEW']
  const create = useMutation({
    mutationFn: () => {
      const [path = folder.path, ...morePaths] = entries.map(({ name }) => childPath(folder.path, name))
      const addresses = recipients.split(',').flatMap(address => address.trim() || [])
      const input = {
        providerId: folder.providerId,
        path,
        kind,
        ...changedSettings(kind, values, stored),
        ...(morePaths.length > 0 && { morePaths }),
        ...(addresses.length > 0 && { recipients: addresses }),
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
      {canReceiveFiles && (
        <Choices
          label={texts.kind}
          choices={allowedKinds.map(value => ({ value, title: texts.kindTitles[value], help: texts.kindHelp[value] }))}
          value={kind}
          onChange={setKind}
        />
      )}
      {sendsEmail && (
        <TextField
          label={texts.recipients}
          description={texts.recipientsHelp}
          value={recipients}
          onChange={setRecipients}
          autoComplete="off"
        />
      )}
      <ShareFields kind={kind} isNew sendsEmail={sendsEmail} values={values} change={change} />
    </FormDialog>
  )
}

const QrCode = lazyPart(async () => (await import('../ui/qr-code.tsx')).QrCode)

function ReadyLink({ url, onClose }: { url: string; onClose: () => void }) {
  const [isShown, setShown] = useState(false)
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
      <details className="share-limits" onToggle={({ currentTarget }) => setShown(currentTarget.open)}>
        <summary>{texts.qrCode}</summary>
        <Suspense>{isShown && <QrCode text={url} label={texts.qrCodeOf} />}</Suspense>
      </details>
      <DialogEnd label={common.done} onClose={onClose} />
    </Dialog>
  )
}
