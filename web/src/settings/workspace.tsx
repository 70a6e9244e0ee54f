import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { graphql } from '../api/graphql.ts'
import { ask } from '../api/request.ts'
import { sessionKey, useSession } from '../app/use-session.ts'
import { Button } from '../ui/button.tsx'
import { type Choice, Choices } from '../ui/choices.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { TextField } from '../ui/field.tsx'
import { tell } from '../ui/toasts.tsx'
import { AdminOnly } from './admin-only.tsx'

const UpdateWorkspaceMutation = graphql(`
  mutation UpdateWorkspace($input: UpdateWorkspaceInput!) {
    updateWorkspace(input: $input) { id }
  }
`)

type Registration = 'OPEN' | 'INVITE' | 'CLOSED'

const registrations: readonly Choice<Registration>[] = [
  {
    value: 'OPEN',
    title: 'Anybody',
    help: 'Whoever reaches this address can make an account; it gives no access before an administrator gives it a role.',
  },
  { value: 'INVITE', title: 'With an invite', help: 'Only whoever was sent a link: see Members.' },
  { value: 'CLOSED', title: 'Nobody', help: 'Invites that were made do not work while this is chosen.' },
]

export function WorkspacePage() {
  return (
    <AdminOnly title="Workspace">
      <h1>Workspace</h1>
      <WorkspaceForm />
    </AdminOnly>
  )
}

function WorkspaceForm() {
  const { workspace } = useSession()
  const client = useQueryClient()
  const [name, setName] = useState(workspace.name)
  const [registration, setRegistration] = useState<Registration>(workspace.registration)
  const save = useMutation({
    mutationFn: async () => {
      await ask(UpdateWorkspaceMutation, { input: { name, registration } })
      await client.invalidateQueries({ queryKey: sessionKey })
      await client.invalidateQueries({ queryKey: ['installation'] })
    },
    onSuccess: () => tell('Saved'),
  })
  return (
    <Form
      className="card"
      onSubmit={event => {
        event.preventDefault()
        save.mutate()
      }}
    >
      <TextField
        label="Name"
        description="Shown at the top of every page."
        value={name}
        onChange={setName}
        isRequired
        maxLength={200}
        autoComplete="off"
      />
      <Choices label="Who can register" choices={registrations} value={registration} onChange={setRegistration} />
      {save.error && <ErrorBox error={save.error} />}
      <div className="row-of">
        <Button type="submit" variant="primary" isPending={save.isPending}>
          Save
        </Button>
      </div>
    </Form>
  )
}
