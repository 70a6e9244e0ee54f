/** The dialog in which a person confirms who they are before a sensitive change. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Form } from 'react-aria-components'
import { ask, basePath, urlOf } from '../api/client.ts'
import { graphql } from '../api/graphql.ts'
import { queryKeys } from '../api/query-keys.ts'
import { installation } from '../api/session.ts'
import { common } from '../texts/common.ts'
import { texts as identityTexts } from '../texts/identities.ts'
import { texts } from '../texts/security.tsx'
import { texts as settingsTexts } from '../texts/settings.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogEnd } from '../ui/dialog.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { FactorForm } from '../ui/factor-form.tsx'
import { submitting, TextField } from '../ui/field.tsx'
import { LoadState } from '../ui/loading.tsx'

const ConfirmationQuery = graphql(`
  query Confirmation {
    confirmation { methods issuers passkeyOptions }
  }
`)

const ConfirmIdentityMutation = graphql(`
  mutation ConfirmIdentity($input: ConfirmIdentityInput!) {
    confirmIdentity(input: $input)
  }
`)

export function ConfirmIdentity({ onEnd }: { onEnd: (isConfirmed: boolean) => void }) {
  const client = useQueryClient()
  const query = useQuery({
    queryKey: queryKeys.confirmation,
    queryFn: ({ signal }) => ask(ConfirmationQuery, {}, { signal }),
    // The question to a passkey works once.
    staleTime: 0,
    gcTime: 0,
  })
  const confirm = async (
    input: { password: string } | { code: string } | { recoveryCode: string } | { passkey: unknown },
  ) => {
    await ask(ConfirmIdentityMutation, { input })
    await client.invalidateQueries({ queryKey: queryKeys.session })
    onEnd(true)
  }
  const { methods = [], issuers = [], passkeyOptions = null } = query.data?.confirmation ?? {}
  const cancel = <Button onPress={() => onEnd(false)}>{common.cancel}</Button>
  return (
    <Dialog title={texts.confirmTitle} onClose={() => onEnd(false)}>
      <LoadState query={query} label={common.loading} />
      {query.error && <DialogEnd onClose={() => onEnd(false)} />}
      {query.data && methods[0] === 'ISSUER' && <SignInAgain issuers={issuers} onClose={() => onEnd(false)} />}
      {methods[0] === 'PASSWORD' && (
        <>
          <p className="help">{texts.confirmHelp}</p>
          <PasswordForm onGiven={confirm} onCancel={() => onEnd(false)} />
        </>
      )}
      {query.data && methods[0] !== 'PASSWORD' && methods[0] !== 'ISSUER' && (
        <>
          <p className="help">{texts.confirmHelp}</p>
          <FactorForm methods={methods} passkeyOptions={passkeyOptions} action={texts.confirm} onGiven={confirm}>
            {cancel}
          </FactorForm>
        </>
      )}
    </Dialog>
  )
}

function PasswordForm({
  onGiven,
  onCancel,
}: {
  onGiven: (given: { password: string }) => Promise<unknown>
  onCancel: () => void
}) {
  const give = useMutation({
    mutationFn: (form: FormData) => onGiven({ password: String(form.get('password')) }),
  })
  return (
    <Form onSubmit={submitting(give.mutate)}>
      <TextField
        label={settingsTexts.currentPassword}
        name="password"
        type="password"
        autoComplete="current-password"
        isRequired
        autoFocus
      />
      {give.error && <ErrorBox error={give.error} />}
      <div className="dialog-actions">
        <Button onPress={onCancel} isDisabled={give.isPending}>
          {common.cancel}
        </Button>
        <Button type="submit" variant="primary" isPending={give.isPending}>
          {texts.confirm}
        </Button>
      </div>
    </Form>
  )
}

/** @param props.issuers the ids of those at which the person has an account */
function SignInAgain({ issuers, onClose }: { issuers: readonly string[]; onClose: () => void }) {
  const next = location.pathname.slice(basePath.length) + location.search
  const { data } = useQuery({ queryKey: queryKeys.installation, queryFn: installation })
  return (
    <>
      <p>{texts.signInAgainHelp}</p>
      <DialogEnd label={common.cancel} onClose={onClose}>
        {data?.singleSignOn
          .filter(({ id }) => issuers.includes(id))
          .map(({ id, name, url }) => (
            <a key={id} className="button" href={`${url}&fresh=true&next=${encodeURIComponent(next)}`}>
              {identityTexts.signInWith(name)}
            </a>
          ))}
        <a className="button" href={urlOf(`/sign-in?next=${encodeURIComponent(next)}`)}>
          {texts.signInAgain}
        </a>
      </DialogEnd>
    </>
  )
}
