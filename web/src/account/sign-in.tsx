/**
 * The pages for people who are not signed in: sign-in, registration, and setting a new password. They take a password, a
 * passkey or the response of an issuer, and begin a session.
 */
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { Link, Navigate, useLocation, useNavigate, useSearchParams } from 'react-router'
import { hasPasskeys } from '../api/passkeys.ts'
import { queryKeys } from '../api/query-keys.ts'
import {
  completeLogin,
  type IssuerLogout,
  installation,
  type LoginChallenge,
  register,
  signIn,
  signInWithPasskey,
  useClearCache,
} from '../api/session.ts'
import { texts } from '../texts/app.tsx'
import { common } from '../texts/common.ts'
import { texts as identityTexts } from '../texts/identities.ts'
import { texts as securityTexts } from '../texts/security.tsx'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { FactorForm } from '../ui/factor-form.tsx'
import { NewPasswordField, submitting, TextField } from '../ui/field.tsx'
import { Loading } from '../ui/loading.tsx'
import { StartSteps } from '../ui/steps.tsx'
import { Welcome } from '../ui/welcome.tsx'

export function SignIn() {
  const state: { issuerLogout?: IssuerLogout | null } | null = useLocation().state
  const { data, isPending } = useQuery({ queryKey: queryKeys.installation, queryFn: installation })
  const [search] = useSearchParams()
  const navigate = useNavigate()
  const clearCache = useClearCache()
  const [challenge, setChallenge] = useState<LoginChallenge | null>(null)
  const open = async () => {
    await clearCache()
    await navigate(safeAddress(search.get('next')), { replace: true })
  }
  const [wantsPassword, setWantsPassword] = useState(false)
  const submit = useMutation({
    mutationFn: async (form: FormData) => {
      const asked = await signIn(String(form.get('email')), String(form.get('password')))
      if (asked) setChallenge(asked)
      else await open()
    },
  })
  const passkey = useMutation({
    mutationFn: async () => {
      await signInWithPasskey()
      await open()
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
  if (challenge) {
    return (
      <Welcome title={securityTexts.secondStepTitle}>
        <FactorForm
          {...challenge}
          action={securityTexts.continue}
          onGiven={async factor => {
            await completeLogin(challenge.challenge, factor)
            await open()
          }}
        >
          <Button onPress={() => setChallenge(null)}>{securityTexts.startOver}</Button>
        </FactorForm>
      </Welcome>
    )
  }
  const showsPassword = !data?.singleSignOnOnly || data.hasDirectory || wantsPassword
  return (
    <Welcome title={texts.signInTitle}>
      {state?.issuerLogout && (
        <p>
          {identityTexts.stillSignedIn(state.issuerLogout.name)}{' '}
          <a href={state.issuerLogout.url}>{identityTexts.signOutAt(state.issuerLogout.name)}</a>
        </p>
      )}
      {showsPassword && (
        <Form onSubmit={submitting(submit.mutate)}>
          <TextField
            label={data?.hasDirectory ? texts.nameOrEmail : texts.email}
            name="email"
            type={data?.hasDirectory ? 'text' : 'email'}
            autoComplete="username"
            isRequired
            autoFocus
          />
          <TextField
            label={texts.password}
            name="password"
            type="password"
            autoComplete="current-password"
            isRequired
          />
          {submit.error && <ErrorBox error={submit.error} />}
          <Button type="submit" variant="primary" isPending={submit.isPending}>
            {common.signIn}
          </Button>
        </Form>
      )}
      {passkey.error && <ErrorBox error={passkey.error} />}
      {hasPasskeys && showsPassword && (
        <Button className="single-sign-on" onPress={() => passkey.mutate()} isPending={passkey.isPending}>
          {securityTexts.signInWithPasskey}
        </Button>
      )}
      {data?.singleSignOn.map(({ name, url }) => (
        <a
          key={url}
          className="button single-sign-on"
          href={`${url}&next=${encodeURIComponent(safeAddress(search.get('next')))}`}
        >
          {identityTexts.signInWith(name)}
        </a>
      ))}
      {!showsPassword && <Button onPress={() => setWantsPassword(true)}>{identityTexts.withPassword}</Button>}
      {showsPassword && data?.sendsPasswordResets && (
        <p className="aside">
          <Link to="/reset-password">{texts.forgot}</Link>
        </p>
      )}
      {data?.registration === 'OPEN' && !data.singleSignOnOnly && (
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
    <Welcome
      title={data.hasOwner ? texts.createAccountTitle : texts.createOwnerTitle}
      steps={!data.hasOwner && <StartSteps current={0} />}
    >
      {!data.hasOwner && <p>{texts.ownerHelp}</p>}
      {data.hasOwner && data.singleSignOnOnly && !isClosed ? (
        <p>{identityTexts.onlySingleSignOn}</p>
      ) : isClosed ? (
        <p>{data.registration === 'INVITE' ? texts.inviteOnly : texts.closed}</p>
      ) : (
        <Form onSubmit={submitting(submit.mutate)}>
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
      {invite &&
        data.registration !== 'CLOSED' &&
        data.singleSignOn.map(({ name, url }) => (
          <a key={url} className="button single-sign-on" href={`${url}&invite=${encodeURIComponent(invite)}`}>
            {identityTexts.signInWith(name)}
          </a>
        ))}
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
