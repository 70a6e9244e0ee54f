/** The page that an application opens, so that a person gives it access or refuses. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { useLocation } from 'react-router'
import { ask, StowageError } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { usePermissions } from '../../api/session.ts'
import { placeOf, texts } from '../../texts/applications.tsx'
import { texts as settingsTexts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { submitting } from '../../ui/field.tsx'
import { Loading } from '../../ui/loading.tsx'
import { PageTitle } from '../../ui/page.tsx'
import { fullAccess, isNothingChosen, type Scope, scopeChoices, toAccessInput } from '../access/access.tsx'
import { AccessEditor, ExpiryField, useExpiry } from '../access/access-editor.tsx'
import '../../ui/parts.css'
import './consent.css'

const ConsentRequestQuery = graphql(`
  query ConsentRequest($query: String!) {
    consentRequest(query: $query) { name host destination isOnMachine audience scopes refusalUrl }
  }
`)

const ApproveConnectionMutation = graphql(`
  mutation ApproveConnection($input: ApproveConnectionInput!) {
    approveConnection(input: $input) { returnUrl }
  }
`)

type ConsentRequest = ResultOf<typeof ConsentRequestQuery>['consentRequest']

export function ConsentPage() {
  const query = useLocation().search.slice(1)
  const { data, error } = useQuery({
    queryKey: ['consent-request', query],
    queryFn: ({ signal }) => ask(ConsentRequestQuery, { query }, { signal }),
    // The person decides about what they have seen.
    staleTime: Number.POSITIVE_INFINITY,
  })
  const title = data ? texts.connectTitle(data.consentRequest.name) : texts.invalidTitle
  return (
    <main className="narrow-page consent">
      {(data || error) && (
        <>
          <PageTitle>{title}</PageTitle>
          <h1>{title}</h1>
        </>
      )}
      {data && <Consent query={query} request={data.consentRequest} />}
      {error && <InvalidRequest error={error} />}
      {!data && !error && <Loading label={texts.loadingRequest} />}
    </main>
  )
}

/** Leads to an application only when the person wants it, because anybody can write a link that opens this page. */
function InvalidRequest({ error }: { error: Error }) {
  const { returnUrl, destination } = error instanceof StowageError ? error.extensions : {}
  return (
    <>
      <ErrorBox error={error} />
      {typeof returnUrl === 'string' && typeof destination === 'string' && (
        <Button onPress={() => location.assign(returnUrl)}>{texts.returnTo(placeOf(destination))}</Button>
      )}
    </>
  )
}

function Consent({ query, request }: { query: string; request: ConsentRequest }) {
  const { name, host, isOnMachine, audience, scopes, refusalUrl } = request
  const destination = placeOf(request.destination)
  const { canRead, canWrite } = usePermissions()
  const [scope, setScope] = useState<Scope>('read')
  const [access, setAccess] = useState({ ...fullAccess, all: false })
  const expiry = useExpiry('90')
  const approve = useMutation({
    mutationFn: async () => {
      if (isNothingChosen(access)) throw new Error(settingsTexts.selectStorageOrAll)
      const expiresAt = expiry.expiresAt() ?? ''
      const input = { query, scopes: [scope], providerAccess: toAccessInput(access), expiresAt }
      location.assign((await ask(ApproveConnectionMutation, { input })).approveConnection.returnUrl)
    },
  })
  const offered = scopeChoices.filter(({ value }) => scopes.includes(value) && (value === 'read' || canWrite))
  return (
    <>
      <p>{texts.asks(<strong>{name}</strong>)}</p>
      <p className="notice">
        {host === null ? texts.undescribed : isOnMachine ? texts.describedOnMachine(host) : texts.described(host)}
      </p>
      <dl className="facts">
        <dt>{texts.destination}</dt>
        <dd>{destination}</dd>
        <dt>{texts.endpoints}</dt>
        <dd>{texts.audiences[audience]}</dd>
      </dl>
      {canRead ? (
        <Form onSubmit={submitting(() => approve.mutate())}>
          <Choices label={settingsTexts.permissions} choices={offered} value={scope} onChange={setScope} />
          <AccessEditor access={access} onChange={setAccess} allHelp={settingsTexts.allOfOwn} />
          <p className="help">{texts.storagesHelp}</p>
          <ExpiryField expiry={expiry} allowNever={false} />
          {approve.error && <ErrorBox error={approve.error} />}
          {approve.isSuccess && <p role="status">{texts.returning(destination)}</p>}
          <div className="actions">
            <Button onPress={() => location.assign(refusalUrl)} isDisabled={approve.isSuccess}>
              {texts.refuse}
            </Button>
            <Button type="submit" variant="primary" isPending={approve.isPending} isDisabled={approve.isSuccess}>
              {texts.connect}
            </Button>
          </div>
        </Form>
      ) : (
        <>
          <p>{texts.noAccess}</p>
          <Button onPress={() => location.assign(refusalUrl)}>{texts.refuse}</Button>
        </>
      )}
    </>
  )
}
