import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { shareLinkOf } from '../../api/share-link.ts'
import { texts } from '../../texts/shares.tsx'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { TextField } from '../../ui/field.tsx'
import { PageTitle } from '../../ui/page-title.tsx'

/** Asks for the password of a share link. */
export function UnlockForm({ token, onUnlocked }: { token: string; onUnlocked: () => void }) {
  const [password, setPassword] = useState('')
  const unlock = useMutation({ mutationFn: () => shareLinkOf(token, password).unlock(), onSuccess: onUnlocked })
  return (
    <main className="welcome">
      <div className="welcome-card">
        <PageTitle>{texts.locked}</PageTitle>
        <h1>{texts.locked}</h1>
        <Form
          onSubmit={event => {
            event.preventDefault()
            unlock.mutate()
          }}
        >
          <TextField
            label={texts.passwordLabel}
            type="password"
            autoComplete="off"
            value={password}
            onChange={setPassword}
            isRequired
            autoFocus
          />
          {unlock.error && <ErrorBox error={unlock.error} />}
          <Button type="submit" variant="primary" isPending={unlock.isPending}>
            {texts.open}
          </Button>
        </Form>
      </div>
    </main>
  )
}
