import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { graphql } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { TextField } from '../../ui/field.tsx'
import { NewPasswordField } from '../../ui/new-password-field.tsx'
import { notify } from '../../ui/toasts.tsx'

/** The session of this browser continues, so its cookie stays valid. */
const ChangePasswordMutation = graphql(`
  mutation ChangePassword($input: ChangePasswordInput!) {
    changePassword(input: $input) { expiresAt }
  }
`)

export function PasswordForm({ email }: { email: string }) {
  const client = useQueryClient()
  const [currentPassword, setCurrentPassword] = useState('')
  const [newPassword, setNewPassword] = useState('')
  const change = useMutation({
    mutationFn: () => ask(ChangePasswordMutation, { input: { currentPassword, newPassword } }),
    onSuccess: () => {
      setCurrentPassword('')
      setNewPassword('')
      notify(texts.passwordChanged)
      return client.invalidateQueries({ queryKey: queryKeys.sessions })
    },
  })
  return (
    <Form
      className="card"
      onSubmit={event => {
        event.preventDefault()
        change.mutate()
      }}
    >
      {/* This field tells password managers whose password changes. */}
      <input type="email" autoComplete="username" value={email} readOnly hidden />
      <TextField
        label={texts.currentPassword}
        type="password"
        autoComplete="current-password"
        value={currentPassword}
        onChange={setCurrentPassword}
        isRequired
      />
      <NewPasswordField
        label={texts.newPassword}
        value={newPassword}
        onChange={setNewPassword}
        description={texts.newPasswordHelp}
      />
      {change.error && <ErrorBox error={change.error} />}
      <div className="row-of">
        <Button type="submit" variant="primary" isPending={change.isPending}>
          {texts.changePassword}
        </Button>
      </div>
    </Form>
  )
}
