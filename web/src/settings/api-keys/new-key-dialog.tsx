import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { urlOf } from '../../api/base-path.ts'
import { ask } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { AccessEditor } from '../access/access-editor.tsx'
import { fullAccess, isNothingChosen, type Scope, scopeChoices, toAccessInput } from '../access/draft.ts'
import { ExpiryField, useExpiry } from '../access/expiry.tsx'
import { CreateKeyMutation, type NewApiKey } from './operations.ts'
import { S3Access } from './s3-access.tsx'

/** Creates a key and shows it once. */
export function NewKeyDialog({ onCreated, onClose }: { onCreated: () => void; onClose: () => void }) {
  const [newKey, setNewKey] = useState<NewApiKey | null>(null)
  if (newKey !== null) return <NewKey created={newKey} onClose={onClose} />
  return (
    <KeyForm
      onCreated={key => {
        setNewKey(key)
        onCreated()
      }}
      onClose={onClose}
    />
  )
}

function KeyForm({ onCreated, onClose }: { onCreated: (key: NewApiKey) => void; onClose: () => void }) {
  const ownScopes = useSession().viewer.scopes
  const [name, setName] = useState('')
  const [scope, setScope] = useState<Scope>('read')
  const [access, setAccess] = useState(fullAccess)
  const expiry = useExpiry('90')
  const create = useMutation({
    mutationFn: () => {
      if (isNothingChosen(access)) throw new Error(texts.selectStorageOrAll)
      const input = { name, scopes: [scope], providerAccess: toAccessInput(access), expiresAt: expiry.expiresAt() }
      return ask(CreateKeyMutation, { input })
    },
    onSuccess: ({ createApiKey }) => onCreated(createApiKey),
  })
  return (
    <FormDialog title={texts.newKey} size="large" action={texts.createKey} submit={create} onClose={onClose}>
      <TextField
        label={common.name}
        description={texts.keyNameHelp}
        value={name}
        onChange={setName}
        isRequired
        maxLength={200}
        autoFocus
        autoComplete="off"
      />
      <Choices
        label={texts.permissions}
        choices={scopeChoices.filter(({ value }) => ownScopes.includes(value))}
        value={scope}
        onChange={setScope}
      />
      <AccessEditor access={access} onChange={setAccess} allHelp={texts.allOfOwn} />
      <ExpiryField expiry={expiry} allowNever />
    </FormDialog>
  )
}

/** Only its button closes this dialog, because the key cannot be shown again. */
function NewKey({ created, onClose }: { created: NewApiKey; onClose: () => void }) {
  const { key: value, s3 } = created
  const example = [
    `curl ${location.origin}${urlOf('/graphql')} \\`,
    `  -H 'Authorization: Bearer ${value}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"query": "{ providers { id name } }"}'`,
  ].join('\n')
  return (
    <Dialog title={texts.copyKeyNow} onClose={onClose} isBusy size="large">
      <p>{texts.keyOnce}</p>
      <code className="secret" data-testid="new-api-key">
        {value}
      </code>
      <div className="actions">
        <CopyButton text={value} label={texts.copyKey} />
      </div>
      <h3>{texts.tryIt}</h3>
      <code className="secret">{example}</code>
      <div className="actions">
        <CopyButton text={example} label={texts.copyExample} />
      </div>
      <S3Access credentials={s3} />
      <div className="dialog-actions">
        <Button variant="primary" onPress={onClose}>
          {common.done}
        </Button>
      </div>
    </Dialog>
  )
}
