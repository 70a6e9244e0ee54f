import { useMutation, useQuery } from '@tanstack/react-query'
import { Form } from 'react-aria-components'
import { Link, useLocation, useNavigate } from 'react-router'
import { StowageError } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { installation, requestPasswordReset, resetPassword } from '../api/session.ts'
import { texts } from '../texts/app.tsx'
import { common } from '../texts/common.ts'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { NewPasswordField, submitting, TextField } from '../ui/field.tsx'
import { Loading } from '../ui/loading.tsx'
import { Welcome } from '../ui/welcome.tsx'

/** Sets a new password with the token of a link, which comes after "#". Without one, people ask for a link by email. */
export function ResetPassword() {
  const { hash } = useLocation()
  const token = hash.slice(1)
  const navigate = useNavigate()
  const { data } = useQuery({ queryKey: queryKeys.installation, queryFn: installation })
  const submit = useMutation({
    mutationFn: (form: FormData) => resetPassword(token, String(form.get('password'))),
    // The history of the browser keeps no token.
    onSuccess: () => navigate('/reset-password', { replace: true }),
  })
  if (submit.isSuccess) {
    return (
      <Welcome title={texts.resetTitle}>
        <p role="status">{texts.resetDone}</p>
        <Link className="button primary" to="/sign-in">
          {common.signIn}
        </Link>
      </Welcome>
    )
  }
  if (token === '') return <AskForLink />
  const isUseless = submit.error instanceof StowageError && submit.error.reason === 'INVALID_RESET'
  return (
    <Welcome title={texts.resetTitle}>
      <Form onSubmit={submitting(submit.mutate)}>
        <NewPasswordField label={texts.newPassword} name="password" autoFocus description={texts.passwordHelp} />
        {submit.error && <ErrorBox error={submit.error} />}
        <Button type="submit" variant="primary" isPending={submit.isPending}>
          {texts.setPassword}
        </Button>
      </Form>
      {isUseless && data?.sendsPasswordResets && (
        <p className="aside">
          <Link to="/reset-password">{texts.newLink}</Link>
        </p>
      )}
    </Welcome>
  )
}

/** Asks for an email with a link. It says the same to those who have an account and to those who have none. */
function AskForLink() {
  const { data, error, refetch } = useQuery({ queryKey: queryKeys.installation, queryFn: installation })
  const ask = useMutation({ mutationFn: (form: FormData) => requestPasswordReset(String(form.get('email'))) })
  if (!data) {
    return (
      <Welcome title={texts.forgot}>
        {error ? <ErrorBox error={error} retry={refetch} /> : <Loading label={common.loading} />}
      </Welcome>
    )
  }
  if (!data.sendsPasswordResets) {
    return (
      <Welcome title={texts.resetTitle}>
        <p>{texts.resetWithoutToken}</p>
      </Welcome>
    )
  }
  return (
    <Welcome title={texts.forgot}>
      {ask.isSuccess ? (
        <p role="status">{texts.forgotSent}</p>
      ) : (
        <>
          <p>{texts.forgotHelp}</p>
          <Form onSubmit={submitting(ask.mutate)}>
            <TextField label={texts.email} name="email" type="email" autoComplete="username" isRequired autoFocus />
            {ask.error && <ErrorBox error={ask.error} />}
            <Button type="submit" variant="primary" isPending={ask.isPending}>
              {texts.sendLink}
            </Button>
          </Form>
        </>
      )}
      <p className="aside">
        <Link to="/sign-in">{common.signIn}</Link>
      </p>
    </Welcome>
  )
}
