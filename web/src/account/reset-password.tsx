import { useMutation } from '@tanstack/react-query'
import { Form } from 'react-aria-components'
import { Link, useLocation } from 'react-router'
import { resetPassword } from '../api/session.ts'
import { texts } from '../texts/app.tsx'
import { common } from '../texts/common.ts'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { NewPasswordField, submitting } from '../ui/field.tsx'
import { Welcome } from '../ui/welcome.tsx'

/** Sets a new password with the token of a link, which comes after "#". */
export function ResetPassword() {
  const { hash } = useLocation()
  const token = hash.slice(1)
  const submit = useMutation({ mutationFn: (form: FormData) => resetPassword(token, String(form.get('password'))) })
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
  return (
    <Welcome title={texts.resetTitle}>
      {token === '' ? (
        <p>{texts.resetWithoutToken}</p>
      ) : (
        <Form onSubmit={submitting(submit.mutate)}>
          <NewPasswordField label={texts.newPassword} name="password" autoFocus description={texts.passwordHelp} />
          {submit.error && <ErrorBox error={submit.error} />}
          <Button type="submit" variant="primary" isPending={submit.isPending}>
            {texts.setPassword}
          </Button>
        </Form>
      )}
    </Welcome>
  )
}
