import { useMutation, useQuery } from '@tanstack/react-query'
import { Form } from 'react-aria-components'
import { Link, useNavigate, useSearchParams } from 'react-router'
import { queryKeys } from '../api/query-keys.ts'
import { installation, register } from '../api/session.ts'
import { useClearCache } from '../api/use-session.ts'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { TextField } from '../ui/field.tsx'
import { Loading } from '../ui/loading.tsx'
import { Welcome } from './welcome.tsx'

/** The first person to register becomes the owner. An invite arrives as `?invite=`. */
export function Register() {
  const { data, error, refetch } = useQuery({ queryKey: queryKeys.installation, queryFn: installation })
  const [search] = useSearchParams()
  const invite = search.get('invite')
  const navigate = useNavigate()
  const clearCache = useClearCache()
  const submit = useMutation({
    mutationFn: async (form: FormData) => {
      const name = String(form.get('name')).trim()
      await register({
        email: String(form.get('email')),
        password: String(form.get('password')),
        ...(name && { name }),
        ...(invite && { invite }),
        ...(data?.needsSetupCode && { setupCode: String(form.get('setupCode')) }),
      })
      await clearCache()
      await navigate(data?.hasOwner ? '/files' : '/connect', { replace: true })
    },
  })
  if (error && !data) {
    return (
      <Welcome title="Create an account">
        <ErrorBox error={error} retry={refetch} />
      </Welcome>
    )
  }
  if (!data) {
    return (
      <Welcome title="Create an account">
        <Loading label="Loading" />
      </Welcome>
    )
  }
  const isClosed = data.hasOwner && data.registration !== 'OPEN' && !invite
  return (
    <Welcome title={data.hasOwner ? 'Create an account' : 'Create the owner account'}>
      {!data.hasOwner && <p>This workspace has no accounts yet. The first account owns it and can invite others.</p>}
      {isClosed ? (
        <p>
          {data.registration === 'INVITE'
            ? 'New members can join only with an invite. Ask an administrator for one.'
            : 'This workspace does not accept new members.'}
        </p>
      ) : (
        <Form
          onSubmit={event => {
            event.preventDefault()
            submit.mutate(new FormData(event.currentTarget))
          }}
        >
          <TextField label="Email" name="email" type="email" autoComplete="username" isRequired autoFocus />
          <TextField label="Name (optional)" name="name" autoComplete="name" description="Shown to other members." />
          <TextField
            label="Password"
            name="password"
            type="password"
            autoComplete="new-password"
            minLength={12}
            maxLength={256}
            isRequired
            description="At least 12 characters. A sentence works well."
          />
          {data.needsSetupCode && (
            <TextField
              label="Setup code"
              name="setupCode"
              type="password"
              autoComplete="off"
              isRequired
              description="The value of STOWAGE_SETUP_CODE on the server."
            />
          )}
          {submit.error && <ErrorBox error={submit.error} />}
          <Button type="submit" variant="primary" isPending={submit.isPending}>
            Create account
          </Button>
        </Form>
      )}
      {data.hasOwner && (
        <p className="aside">
          Already have an account? <Link to="/sign-in">Sign in</Link>
        </p>
      )}
    </Welcome>
  )
}
