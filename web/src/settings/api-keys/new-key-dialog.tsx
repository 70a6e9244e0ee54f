import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ask, urlOf } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { useSession } from '../../api/session.ts'
import { common } from '../../texts/common.ts'
import { texts as groupTexts } from '../../texts/groups.tsx'
import { texts } from '../../texts/settings.tsx'
import { Choices } from '../../ui/choices.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog, DialogEnd, FormDialog } from '../../ui/dialog.tsx'
import { NameField, TextField } from '../../ui/field.tsx'
import { fullAccess, isNothingChosen, type Scope, scopeChoices, toAccessInput } from '../access/access.tsx'
import { AccessEditor, ExpiryField, useExpiry } from '../access/access-editor.tsx'

const CreateKeyMutation = graphql(`
  mutation CreateApiKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { key apiKey { id name } s3 { accessKeyId secretAccessKey endpoint region } }
  }
`)

type NewApiKey = ResultOf<typeof CreateKeyMutation>['createApiKey']

interface NewKeyProps {
  /** The id of the service account that gets the key; null for a key of the viewer. */
  account: string | null
  onClose: () => void
}

/** Creates a key and shows it once. */
export function NewKeyDialog({ account, onCreated, onClose }: NewKeyProps & { onCreated: () => void }) {
  const [newKey, setNewKey] = useState<NewApiKey | null>(null)
  if (newKey !== null) return <NewKey created={newKey} onClose={onClose} />
  return (
    <KeyForm
      account={account}
      onCreated={key => {
        setNewKey(key)
        onCreated()
      }}
      onClose={onClose}
    />
  )
}

function KeyForm({ account, onCreated, onClose }: NewKeyProps & { onCreated: (key: NewApiKey) => void }) {
  const ownScopes = useSession().viewer.scopes
  const [name, setName] = useState('')
  const [scope, setScope] = useState<Scope>('read')
  const [access, setAccess] = useState(fullAccess)
  const [publicKey, setPublicKey] = useState('')
  const expiry = useExpiry('90')
  const create = useMutation({
    mutationFn: () => {
      if (isNothingChosen(access)) throw new Error(texts.selectStorageOrAll)
      const rights = { scopes: [scope], providerAccess: toAccessInput(access), expiresAt: expiry.expiresAt() }
      const input = { name, ...rights, ofUser: account, publicKey: publicKey.trim() || null }
      return ask(CreateKeyMutation, { input })
    },
    onSuccess: ({ createApiKey }) => onCreated(createApiKey),
  })
  return (
    <FormDialog title={texts.newKey} size="large" action={texts.createKey} submit={create} onClose={onClose}>
      <NameField description={texts.keyNameHelp} value={name} onChange={setName} autoFocus />
      <Choices
        label={texts.permissions}
        choices={scopeChoices.filter(({ value }) => ownScopes.includes(value))}
        value={scope}
        onChange={setScope}
      />
      <AccessEditor
        access={access}
        onChange={setAccess}
        allHelp={account === null ? texts.allOfOwn : groupTexts.allOfAccount}
      />
      <ExpiryField expiry={expiry} allowNever />
      <TextField
        label={texts.publicKey}
        description={texts.publicKeyHelp}
        placeholder={texts.publicKeyExample}
        value={publicKey}
        onChange={setPublicKey}
      />
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
      <DialogEnd label={common.done} onClose={onClose} />
    </Dialog>
  )
}

type Credentials = NewApiKey['s3']

const programs = [
  { value: 'aws', title: 'AWS CLI' },
  { value: 'rclone', title: 'rclone' },
  { value: 'restic', title: 'restic' },
] as const

type Program = (typeof programs)[number]['value']

/** Shows the credentials of a new key for programs that speak S3, with commands that work as they are. */
function S3Access({ credentials }: { credentials: Credentials }) {
  const [program, setProgram] = useState<Program>('aws')
  const commands = commandsFor(program, credentials)
  return (
    <details>
      <summary>{texts.s3.use}</summary>
      <p className="help">{texts.s3.buckets}</p>
      <dl className="facts">
        <dt>{texts.s3.endpoint}</dt>
        <dd>
          <code>{credentials.endpoint}</code>
        </dd>
        <dt>{texts.s3.region}</dt>
        <dd>
          <code>{credentials.region}</code>
        </dd>
        <dt>{texts.s3.accessKeyId}</dt>
        <dd>
          <code>{credentials.accessKeyId}</code>
        </dd>
        <dt>{texts.s3.secretAccessKey}</dt>
        <dd>
          <code className="secret" data-testid="new-s3-secret">
            {credentials.secretAccessKey}
          </code>
        </dd>
      </dl>
      <Choices label={texts.s3.program} layout="row" choices={programs} value={program} onChange={setProgram} />
      <code className="secret" data-testid="s3-commands">
        {commands}
      </code>
      {program === 'restic' && hasPath(credentials.endpoint) && <p className="help">{texts.s3.resticNeedsDomain}</p>}
      <div className="actions">
        <CopyButton text={commands} label={texts.s3.copyCommands} />
      </div>
    </details>
  )
}

function commandsFor(program: Program, { accessKeyId, secretAccessKey, endpoint, region }: Credentials): string {
  const environment = [`export AWS_ACCESS_KEY_ID=${accessKeyId}`, `export AWS_SECRET_ACCESS_KEY=${secretAccessKey}`]
  if (program === 'aws') {
    return [...environment, `export AWS_DEFAULT_REGION=${region}`, `aws --endpoint-url ${endpoint} s3 ls`].join('\n')
  }
  if (program === 'restic') {
    return [...environment, `restic -r s3:${endpoint}/BUCKET/FOLDER -o s3.bucket-lookup=path init`].join('\n')
  }
  const settings = [
    'provider=Other',
    `access_key_id=${accessKeyId}`,
    `secret_access_key=${secretAccessKey}`,
    `endpoint=${endpoint}`,
    `region=${region}`,
  ]
  return [`rclone config create stowage s3 ${settings.join(' ')}`, 'rclone lsd stowage:'].join('\n')
}

function hasPath(endpoint: string): boolean {
  return new URL(endpoint).pathname !== '/'
}
