import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useNavigate, useSearchParams } from 'react-router'
import { ask } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { usePermissions } from '../api/session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/storages.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { LoadState } from '../ui/loading.tsx'
import { PageTitle } from '../ui/page.tsx'
import { StartSteps, Steps } from '../ui/steps.tsx'
import { StorageLogo } from '../ui/storage-logo.tsx'
import { ConnectForm } from './connect-form.tsx'
import { Consent } from './consent.tsx'
import { type ConnectedProvider, type ProviderType, ProviderTypesQuery } from './operations.ts'
import { Ready } from './ready.tsx'
import { ServerDisk } from './server-disk.tsx'
import { TypeCards } from './type-cards.tsx'
import './connect.css'
import './storages.css'

/**
 * Adds a storage in three steps: its type, how to sign in to it, and what the test has found. The first storage of a workspace opens
 * as soon as it is connected.
 */
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
  const { data } = query
  if (!data) return <LoadState query={query} label={texts.loadingTypes} />
  return <ConnectSteps types={data.providerTypes} hasStorages={data.providers.length > 0} />
}

function ConnectSteps({ types, hasStorages }: { types: readonly ProviderType[]; hasStorages: boolean }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [search] = useSearchParams()
  const chosen = search.get('type')
  const [connected, setConnected] = useState<Connected | null>(null)
  const [isFirst, setFirst] = useState(false)
  // It stays the first one while the list of storages is read again, before it opens.
  if (!hasStorages && !isFirst) setFirst(true)

  const finish = async (provider: ConnectedProvider, type: ProviderType) => {
    if (!isFirst) setConnected({ provider, type, isReady: true })
    const refetchType = isFirst ? 'all' : 'active'
    const isListed = client.invalidateQueries({ queryKey: queryKeys.providers, refetchType })
    if (!isFirst) return
    // The page of the folder finds its storage in this list.
    await isListed
    await navigate(`/files/${provider.id}`, { replace: true })
  }
  const type = types.find(({ type }) => type === chosen)
  const steps = (current: number) =>
    isFirst ? <StartSteps current={1} /> : <Steps label={texts.progress} steps={texts.stages} current={current} />
  // The address without a type, to which links lead, begins again.
  if (!type && connected) setConnected(null)
  if (type && connected?.type.type === type.type) {
    const { provider, isReady } = connected
    if (isReady) {
      return (
        <>
          {steps(2)}
          <Ready id={provider.id} name={provider.name} />
        </>
      )
    }
    return (
      <>
        {steps(1)}
        <h1>{texts.authorizeTitle(provider.name)}</h1>
        <Consent
          providerId={provider.id}
          vendor={type.title}
          startUrl={provider.authorizationUrl}
          onConnected={() => void finish(provider, type)}
        />
      </>
    )
  }
  if (type) {
    return (
      <>
        {steps(1)}
        <h1 className="connect-title">
          <span className="logo-plate">
            <StorageLogo type={type.type} />
          </span>
          {texts.connectType(type.title)}
        </h1>
        <ConnectForm
          key={type.type}
          type={type}
          onConnected={provider =>
            provider.authorizationUrl === null
              ? finish(provider, type)
              : setConnected({ provider, type, isReady: false })
          }
        />
      </>
    )
  }
  return (
    <>
      {steps(0)}
      <h1>{isFirst ? texts.addFirstStorage : texts.addStorage}</h1>
      <p className="help">{texts.addHelp}</p>
      {isFirst && <ServerDisk types={types} onConnected={finish} />}
      {types.length === 0 ? <ErrorBox error={texts.noTypes} /> : <TypeCards types={types} />}
      <p className="aside">
        <Link to="/files">{isFirst ? common.skipForNow : texts.backToFiles}</Link>
      </p>
    </>
  )
}
