import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { Link, Navigate, useNavigate, useSearchParams } from 'react-router'
import { installation, signIn } from '../api/session.ts'
import { useForgetAll } from '../app/use-session.ts'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { TextField } from '../ui/field.tsx'
import { Loading } from '../ui/loading.tsx'
import { Welcome } from './welcome.tsx'

export function SignIn() {
  const { data, isPending } = useQuery({ queryKey: ['installation'], queryFn: installation })
  const [search] = useSearchParams()
  const navigate = useNavigate()
  const forgetAll = useForgetAll()
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  // The form waits: what somebody types must not vanish because the page turns out to be the registration.
  if (isPending) return <Loading label="Starting" />
  if (data && !data.hasOwner) return <Navigate to="/register" replace />

  const submit = async (form: FormData) => {
    setBusy(true)
    setError(null)
    try {
      await signIn(String(form.get('email')), String(form.get('password')))
      await forgetAll()
      await navigate(ownAddress(search.get('next')), { replace: true })
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  return (
    <Welcome title="Sign in">
      <Form
        onSubmit={event => {
          event.preventDefault()
          void submit(new FormData(event.currentTarget))
        }}
      >
        <TextField label="Email" name="email" type="email" autoComplete="username" isRequired autoFocus />
        <TextField label="Password" name="password" type="password" autoComplete="current-password" isRequired />
        {error !== null && <ErrorBox error={error} />}
        <Button type="submit" variant="primary" isPending={busy}>
          Sign in
        </Button>
      </Form>
      {data?.registration === 'OPEN' && (
        <p className="aside">
          No account yet? <Link to="/register">Create one</Link>
        </p>
      )}
    </Welcome>
  )
}

/** Never leads to another site. */
function ownAddress(next: string | null): string {
  return next?.startsWith('/') && !next.startsWith('//') && !next.includes('\\') ? next : '/files'
}
