import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { Link, useNavigate, useSearchParams } from 'react-router'
import { installation, register } from '../api/session.ts'
import { useForgetAll } from '../app/use-session.ts'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { TextField } from '../ui/field.tsx'
import { Loading } from '../ui/loading.tsx'
import { Welcome } from './welcome.tsx'

/** The first person becomes the owner; an invite comes as `?invite=`. */
export function Register() {
  const { data, error: failed, refetch } = useQuery({ queryKey: ['installation'], queryFn: installation })
  const [search] = useSearchParams()
  const invite = search.get('invite')
  const navigate = useNavigate()
  const forgetAll = useForgetAll()
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  if (failed && !data) {
    return (
      <Welcome title="Create an account">
        <ErrorBox error={failed} retry={refetch} />
      </Welcome>
    )
  }
  if (!data) return <Loading label="Starting" />

  const submit = async (form: FormData) => {
    setBusy(true)
    setError(null)
    const name = String(form.get('name')).trim()
    try {
      await register({
        email: String(form.get('email')),
        password: String(form.get('password')),
        ...(name && { name }),
        ...(invite && { invite }),
        ...(data.needsSetupCode && { setupCode: String(form.get('setupCode')) }),
      })
      await forgetAll()
      await navigate(data.hasOwner ? '/files' : '/connect', { replace: true })
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  const isClosed = data.hasOwner && data.registration !== 'OPEN' && !invite
  return (
    <Welcome title={data.hasOwner ? 'Create an account' : 'Create the owner account'}>
      {!data.hasOwner && (
        <p>Nobody has an account here yet. The first one owns the workspace and can invite the others.</p>
      )}
      {isClosed ? (
        <p>This workspace takes new members only with an invite: ask an administrator for one.</p>
      ) : (
        <Form
          onSubmit={event => {
            event.preventDefault()
            void submit(new FormData(event.currentTarget))
          }}
        >
          <TextField label="Email" name="email" type="email" autoComplete="username" isRequired autoFocus />
          <TextField label="Name" name="name" autoComplete="name" description="As others see it; may stay empty." />
          <TextField
            label="Password"
            name="password"
            type="password"
            autoComplete="new-password"
            minLength={12}
            maxLength={256}
            isRequired
            description="At least 12 characters. A sentence is fine."
          />
          {data.needsSetupCode && (
            <TextField
              label="Setup code"
              name="setupCode"
              type="password"
              autoComplete="off"
              isRequired
              description="Set on the server as STOWAGE_SETUP_CODE."
            />
          )}
          {error !== null && <ErrorBox error={error} />}
          <Button type="submit" variant="primary" isPending={busy}>
            Create account
          </Button>
        </Form>
      )}
      {data.hasOwner && (
        <p className="aside">
          Have an account? <Link to="/sign-in">Sign in</Link>
        </p>
      )}
    </Welcome>
  )
}
