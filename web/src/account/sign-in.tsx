import { useMutation, useQuery } from '@tanstack/react-query'
import { Form } from 'react-aria-components'
import { Link, Navigate, useNavigate, useSearchParams } from 'react-router'
import { queryKeys } from '../api/query-keys.ts'
import { installation, signIn } from '../api/session.ts'
import { useClearCache } from '../api/use-session.ts'
import { texts } from '../texts/account.tsx'
import { common } from '../texts/common.ts'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { TextField } from '../ui/field.tsx'
import { Loading } from '../ui/loading.tsx'
import { Welcome } from './welcome.tsx'

export function SignIn() {
  const { data, isPending } = useQuery({ queryKey: queryKeys.installation, queryFn: installation })
  const [search] = useSearchParams()
  const navigate = useNavigate()
  const clearCache = useClearCache()
  const submit = useMutation({
    mutationFn: async (form: FormData) => {
      await signIn(String(form.get('email')), String(form.get('password')))
      await clearCache()
      await navigate(safeAddress(search.get('next')), { replace: true })
    },
  })
  // The form waits for the response, because a redirect to the registration would discard what was typed.
  if (isPending) {
    return (
      <Welcome title={texts.signInTitle}>
        <Loading label={common.loading} />
      </Welcome>
    )
  }
  if (data && !data.hasOwner) return <Navigate to="/register" replace />
  return (
    <Welcome title={texts.signInTitle}>
      <Form
        onSubmit={event => {
          event.preventDefault()
          submit.mutate(new FormData(event.currentTarget))
        }}
      >
        <TextField label={texts.email} name="email" type="email" autoComplete="username" isRequired autoFocus />
        <TextField label={texts.password} name="password" type="password" autoComplete="current-password" isRequired />
        {submit.error && <ErrorBox error={submit.error} />}
        <Button type="submit" variant="primary" isPending={submit.isPending}>
          {common.signIn}
        </Button>
      </Form>
      {data?.registration === 'OPEN' && (
        <p className="aside">
          {texts.noAccount(text => (
            <Link to="/register">{text}</Link>
          ))}
        </p>
      )}
    </Welcome>
  )
}

/** Returns the address to open after sign-in: always one of this site, so that a link cannot redirect elsewhere. */
function safeAddress(next: string | null): string {
  return next?.startsWith('/') && !next.startsWith('//') && !next.includes('\\') ? next : '/files'
}
