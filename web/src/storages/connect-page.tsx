import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useSearchParams } from 'react-router'
import { ask } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { usePermissions } from '../api/session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/storages.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { LoadState } from '../ui/loading.tsx'
import { PageTitle } from '../ui/page.tsx'
import { StorageLogo } from '../ui/storage-logo.tsx'
import { ConnectForm } from './connect-form.tsx'
import { Consent } from './consent.tsx'
import { type ConnectedProvider, type ProviderType, ProviderTypesQuery } from './operations.ts'
import { Ready } from './ready.tsx'
import { TypeCards } from './type-cards.tsx'
import './connect.css'
import './storages.css'

/** Adds a storage in three steps: its type, how to sign in to it, and what the test has found. */
export function ConnectPage() {
  const { isUnrestricted } = usePermissions()
  return (
    <main className="connect">
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

interface Connected {
  provider: ConnectedProvider
  type: ProviderType
  isReady: boolean
}

function Connecting() {
  const query = useQuery({
    queryKey: [...queryKeys.providers, 'types'],
    queryFn: ({ signal }) => ask(ProviderTypesQuery, {}, { signal }),
    // A refetch while the form is open would discard what was typed.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: 'always',
  })
  const client = useQueryClient()
  const [search] = useSearchParams()
  const chosen = search.get('type')
  const [connected, setConnected] = useState<Connected | null>(null)
  const { data } = query
  if (!data) return <LoadState query={query} label={texts.loadingTypes} />

  const finish = (provider: ConnectedProvider, type: ProviderType) => {
    setConnected({ provider, type, isReady: true })
    void client.invalidateQueries({ queryKey: queryKeys.providers })
  }
  const type = data.providerTypes.find(({ type }) => type === chosen)
  // The address without a type, to which links lead, begins again.
  if (!type && connected) setConnected(null)
  if (type && connected?.type.type === type.type) {
    const { provider, isReady } = connected
    if (isReady) {
      return (
        <>
          <Progress current={2} />
          <Ready id={provider.id} name={provider.name} />
        </>
      )
    }
    return (
      <>
        <Progress current={1} />
        <h1>{texts.authorizeTitle(provider.name)}</h1>
        <Consent
          providerId={provider.id}
          vendor={type.title}
          startUrl={provider.authorizationUrl}
          onConnected={() => finish(provider, type)}
        />
      </>
    )
  }
  if (type) {
    return (
      <>
        <Progress current={1} />
        <h1 className="connect-title">
          <span className="logo-plate">
            <StorageLogo type={type.type} />
          </span>
          {texts.connectType(type.title)}
        </h1>
        <ConnectForm
          key={type.type}
          type={type}
          onConnected={provider => {
            if (provider.authorizationUrl === null) finish(provider, type)
            else setConnected({ provider, type, isReady: false })
          }}
        />
      </>
    )
  }
  const isFirst = data.providers.length === 0
  return (
    <>
      <Progress current={0} />
      <h1>{isFirst ? texts.addFirstStorage : texts.addStorage}</h1>
      <p className="help">{texts.addHelp}</p>
      {data.providerTypes.length === 0 ? <ErrorBox error={texts.noTypes} /> : <TypeCards types={data.providerTypes} />}
      <p className="aside">
        <Link to="/files">{isFirst ? common.skipForNow : texts.backToFiles}</Link>
      </p>
    </>
  )
}

/** The steps, and which of them is the present one. */
function Progress({ current }: { current: number }) {
  return (
    <ol className="connect-progress" aria-label={texts.progress}>
      {texts.stages.map((stage, index) => (
        <li
          key={stage}
          className={index < current ? 'done' : ''}
          {...(index === current && { 'aria-current': 'step' as const })}
        >
          <span aria-hidden="true">{index + 1}</span>
          {stage}
        </li>
      ))}
    </ol>
  )
}
