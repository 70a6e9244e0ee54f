import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useNavigate } from 'react-router'
import { queryKeys } from '../api/query-keys.ts'
import { ask } from '../api/request.ts'
import { usePermissions } from '../api/use-session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/storages.tsx'
import { Choices } from '../ui/choices.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Loading } from '../ui/loading.tsx'
import { PageTitle } from '../ui/page-title.tsx'
import { notify } from '../ui/toasts.tsx'
import { ConnectForm } from './connect-form.tsx'
import { Consent } from './consent.tsx'
import { type ConnectedProvider, type ProviderType, ProviderTypesQuery } from './operations.ts'

export function ConnectPage() {
  const { isUnrestricted } = usePermissions()
  return (
    <main className="narrow-page connect">
      <PageTitle>{texts.addStorage}</PageTitle>
      {isUnrestricted ? (
        <Connecting />
      ) : (
        <>
          <h1>{texts.addStorage}</h1>
          <p>{texts.notAllowed}</p>
          <p>
            <Link to="/files">{texts.toFiles}</Link>
          </p>
        </>
      )}
    </main>
  )
}

function Connecting() {
  const { data, error, refetch } = useQuery({
    queryKey: [...queryKeys.providers, 'types'],
    queryFn: ({ signal }) => ask(ProviderTypesQuery, {}, { signal }),
    // A refetch while the form is open would discard what was typed.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: 'always',
  })
  const client = useQueryClient()
  const navigate = useNavigate()
  const [chosenType, setChosenType] = useState<string | null>(null)
  const [awaitingConsent, setAwaitingConsent] = useState<{ provider: ConnectedProvider; type: ProviderType } | null>(
    null,
  )
  if (error && !data) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label={texts.loadingTypes} />

  const types = data.providerTypes
  const type = types.find(({ type }) => type === chosenType) ?? types[0]
  const finish = async ({ id, name }: ConnectedProvider) => {
    notify(texts.isConnected(name))
    await client.invalidateQueries({ queryKey: queryKeys.providers })
    await navigate(`/files/${id}`)
  }
  if (awaitingConsent) {
    const { provider } = awaitingConsent
    return (
      <>
        <h1>{texts.authorizeTitle(provider.name)}</h1>
        <Consent
          providerId={provider.id}
          vendor={awaitingConsent.type.title}
          startUrl={provider.authorizationUrl}
          onConnected={() => void finish(provider)}
        />
      </>
    )
  }
  const isFirst = data.providers.length === 0
  return (
    <>
      <h1>{isFirst ? texts.addFirstStorage : texts.addStorage}</h1>
      <p className="help">{texts.addHelp}</p>
      {!type ? (
        <ErrorBox error={texts.noTypes} />
      ) : (
        <>
          <Choices
            label={texts.whereFiles}
            choices={types.map(({ type, title, builtIn }) => ({
              value: type,
              title,
              help: texts.typeHelp[type] ?? (builtIn ? undefined : texts.addedAdapter),
            }))}
            value={type.type}
            onChange={setChosenType}
          />
          <ConnectForm
            key={type.type}
            type={type}
            onConnected={provider => {
              if (provider.authorizationUrl === null) void finish(provider)
              else setAwaitingConsent({ provider, type })
            }}
          />
        </>
      )}
      <p className="aside">
        <Link to="/files">{isFirst ? common.skipForNow : texts.backToFiles}</Link>
      </p>
    </>
  )
}
