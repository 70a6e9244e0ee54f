import { useMutation, useQuery } from '@tanstack/react-query'
import { Form } from 'react-aria-components'
import { Link, useNavigate, useSearchParams } from 'react-router'
import { queryKeys } from '../api/query-keys.ts'
import { installation, register } from '../api/session.ts'
import { useClearCache } from '../api/use-session.ts'
import { texts } from '../texts/account.tsx'
import { common } from '../texts/common.ts'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { TextField } from '../ui/field.tsx'
import { Loading } from '../ui/loading.tsx'
import { NewPasswordField } from '../ui/new-password-field.tsx'
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
      <Welcome title={texts.createAccountTitle}>
        <ErrorBox error={error} retry={refetch} />
      </Welcome>
    )
  }
  if (!data) {
    return (
      <Welcome title={texts.createAccountTitle}>
        <Loading label={common.loading} />
      </Welcome>
    )
  }
  const isClosed = data.hasOwner && data.registration !== 'OPEN' && !invite
  return (
    <Welcome title={data.hasOwner ? texts.createAccountTitle : texts.createOwnerTitle}>
      {!data.hasOwner && <p>{texts.ownerHelp}</p>}
      {isClosed ? (
        <p>{data.registration === 'INVITE' ? texts.inviteOnly : texts.closed}</p>
      ) : (
        <Form
          onSubmit={event => {
            event.preventDefault()
            submit.mutate(new FormData(event.currentTarget))
          }}
        >
          <TextField label={texts.email} name="email" type="email" autoComplete="username" isRequired autoFocus />
          <TextField label={texts.nameOptional} name="name" autoComplete="name" description={texts.nameHelp} />
          <NewPasswordField label={texts.password} name="password" description={texts.passwordHelp} />
          {data.needsSetupCode && (
            <TextField
              label={texts.setupCode}
              name="setupCode"
              type="password"
              autoComplete="off"
              isRequired
              description={texts.setupCodeHelp}
            />
          )}
          {submit.error && <ErrorBox error={submit.error} />}
          <Button type="submit" variant="primary" isPending={submit.isPending}>
            {texts.createAccount}
          </Button>
        </Form>
      )}
      {data.hasOwner && (
        <p className="aside">
          {texts.hasAccount(text => (
            <Link to="/sign-in">{text}</Link>
          ))}
        </p>
      )}
    </Welcome>
  )
}
