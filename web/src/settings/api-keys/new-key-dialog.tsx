import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { ask } from '../../api/request.ts'
import { useSession } from '../../app/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { TextField } from '../../ui/field.tsx'
import { AccessEditor } from '../access/access-editor.tsx'
import { everything, nothingChosen, type Scope, scopeChoices, toAccessInput } from '../access/draft.ts'
import { ExpiryField, useExpiry } from '../access/expiry.tsx'
import { CreateKeyMutation } from './operations.ts'

/** Asks for a key, and then shows it, this once. */
export function NewKeyDialog({ onMade, onClose }: { onMade: () => void; onClose: () => void }) {
  const [made, setMade] = useState<string | null>(null)
  if (made !== null) return <NewKey value={made} onClose={onClose} />
  return (
    <KeyForm
      onMade={key => {
        setMade(key)
        onMade()
      }}
      onClose={onClose}
    />
  )
}

function KeyForm({ onMade, onClose }: { onMade: (key: string) => void; onClose: () => void }) {
  const own = useSession().viewer.scopes
  const [name, setName] = useState('')
  const [scope, setScope] = useState<Scope>('read')
  const [access, setAccess] = useState(everything)
  const expiry = useExpiry('90')
  const create = useMutation({
    mutationFn: () => {
      if (nothingChosen(access)) throw new Error('Choose at least one provider, or all of them.')
      const input = { name, scopes: [scope], providerAccess: toAccessInput(access), expiresAt: expiry.expiresAt() }
      return ask(CreateKeyMutation, { input })
    },
    onSuccess: ({ createApiKey }) => onMade(createApiKey.key),
  })
  if (own.length === 0) {
    return (
      <Dialog title="New key" onClose={onClose}>
        <p>You have no access to any files yet, so a key of yours could do nothing: ask an administrator for a role.</p>
        <div className="dialog-actions">
          <Button onPress={onClose}>Close</Button>
        </div>
      </Dialog>
    )
  }
  return (
    <Dialog title="New key" onClose={onClose} isBusy={create.isPending} size="large">
      <Form
        onSubmit={event => {
          event.preventDefault()
          create.mutate()
        }}
      >
        <TextField
          label="Name"
          description="What it is for, such as “nightly backup”."
          value={name}
          onChange={setName}
          isRequired
          maxLength={200}
          autoFocus
          autoComplete="off"
        />
        <Choices
          label="What it may do"
          choices={scopeChoices.filter(({ value }) => own.includes(value))}
          value={scope}
          onChange={setScope}
        />
        <AccessEditor access={access} onChange={setAccess} allHelp="All that you reach, also those connected later." />
        <ExpiryField expiry={expiry} allowNever />
        {create.error && <ErrorBox error={create.error} />}
        <div className="dialog-actions">
          <Button onPress={onClose} isDisabled={create.isPending}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" isPending={create.isPending}>
            Create key
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}

/** Only its button closes it: there is no second look. */
function NewKey({ value, onClose }: { value: string; onClose: () => void }) {
  const example = [
    `curl ${location.origin}/graphql \\`,
    `  -H 'Authorization: Bearer ${value}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"query": "{ providers { id name } }"}'`,
  ].join('\n')
  return (
    <Dialog title="Copy the key now" onClose={onClose} isBusy size="large">
      <p>It is not shown again: put it where the script reads it, and nowhere else.</p>
      <code className="secret" data-testid="new-api-key">
        {value}
      </code>
      <div className="dialog-actions">
        <CopyButton text={value} label="Copy key" />
      </div>
      <h3>Try it</h3>
      <code className="secret">{example}</code>
      <div className="dialog-actions">
        <CopyButton text={example} label="Copy example" />
        <Button variant="primary" onPress={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  )
}
