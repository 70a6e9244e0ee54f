import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { graphql } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { TextField } from '../../ui/field.tsx'
import { notify } from '../../ui/toasts.tsx'

const UpdateProfileMutation = graphql(`
  mutation UpdateProfile($input: UpdateProfileInput!) {
    updateProfile(input: $input) { id }
  }
`)

export function NameForm({ name: current }: { name: string | null }) {
  const client = useQueryClient()
  const [name, setName] = useState(current ?? '')
  const save = useMutation({
    mutationFn: async () => {
      await ask(UpdateProfileMutation, { input: { name: name.trim() || null } })
      await Promise.all([queryKeys.session, queryKeys.members].map(queryKey => client.invalidateQueries({ queryKey })))
    },
    onSuccess: () => notify(common.saved),
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
        label={common.name}
        autoComplete="name"
        value={name}
        onChange={setName}
        maxLength={200}
        description={texts.ownNameHelp}
      />
      {save.error && <ErrorBox error={save.error} />}
      <div className="row-of">
        <Button type="submit" isPending={save.isPending} isDisabled={name.trim() === (current ?? '')}>
          {common.save}
        </Button>
      </div>
    </Form>
  )
}
