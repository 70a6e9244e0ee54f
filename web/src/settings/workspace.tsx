import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { graphql } from '../api/graphql.ts'
import { queryKeys } from '../api/query-keys.ts'
import { ask } from '../api/request.ts'
import { useSession } from '../api/use-session.ts'
import { AdminOnly } from '../ui/admin-only.tsx'
import { Button } from '../ui/button.tsx'
import { type Choice, Choices } from '../ui/choices.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { TextField } from '../ui/field.tsx'
import { notify } from '../ui/toasts.tsx'

const UpdateWorkspaceMutation = graphql(`
  mutation UpdateWorkspace($input: UpdateWorkspaceInput!) {
    updateWorkspace(input: $input) { id }
  }
`)

type Registration = 'OPEN' | 'INVITE' | 'CLOSED'

const registrations: readonly Choice<Registration>[] = [
  {
    value: 'OPEN',
    title: 'Anyone',
    help: 'Anyone who can open this address can create an account. It has no access until an administrator gives it a role.',
  },
  {
    value: 'INVITE',
    title: 'With an invite',
    help: 'Only people with an invite link, which you create under Members.',
  },
  { value: 'CLOSED', title: 'No one', help: 'Existing invites do not work either.' },
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
      await client.invalidateQueries({ queryKey: queryKeys.session })
      await client.invalidateQueries({ queryKey: queryKeys.installation })
    },
    onSuccess: () => notify('Saved'),
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
