import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useNavigate } from 'react-router'
import { queryKeys } from '../api/query-keys.ts'
import { ask } from '../api/request.ts'
import { usePermissions } from '../api/use-session.ts'
import { Choices } from '../ui/choices.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Loading } from '../ui/loading.tsx'
import { PageTitle } from '../ui/page-title.tsx'
import { notify } from '../ui/toasts.tsx'
import { ConnectForm } from './connect-form.tsx'
import { Consent } from './consent.tsx'
import { type ConnectedProvider, type ProviderType, ProviderTypesQuery } from './operations.ts'

export function ConnectPage() {
  const { canConnect } = usePermissions()
  return (
    <main className="narrow-page connect">
      <PageTitle>Connect a storage</PageTitle>
      {canConnect ? (
        <Connecting />
      ) : (
        <>
          <h1>Connect a storage</h1>
          <p>Only administrators with access to the whole workspace can connect a storage. Ask one of them.</p>
          <p>
            <Link to="/files">Go to your files</Link>
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
  if (!data) return <Loading label="Loading the storage types" />

  const types = data.providerTypes
  const type = types.find(({ type }) => type === chosenType) ?? types[0]
  const finish = async ({ id, name }: ConnectedProvider) => {
    notify(`“${name}” is connected`)
    await client.invalidateQueries({ queryKey: queryKeys.providers })
    await navigate(`/files/${id}`)
  }
  if (awaitingConsent) {
    const { provider } = awaitingConsent
    return (
      <>
        <h1>Give consent for “{provider.name}”</h1>
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
      <h1>{isFirst ? 'Connect your first storage' : 'Connect a storage'}</h1>
      <p className="help">
        Your files stay where they are. Stowage shows them and stores your uploads beside them. You can connect more
        storages at any time.
      </p>
      {!type ? (
        <ErrorBox error="This server has no storage types. Check the setting STOWAGE_ADAPTERS." />
      ) : (
        <>
          <Choices
            label="Where are your files?"
            choices={types.map(({ type, title, builtIn }) => ({
              value: type,
              title,
              help: typeHelp[type] ?? (builtIn ? undefined : 'Provided by an adapter that was added to this server.'),
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
        <Link to="/files">{isFirst ? 'Skip for now' : 'Back to your files'}</Link>
      </p>
    </>
  )
}

const typeHelp: Record<string, string> = {
  local: 'A folder on the server that Stowage runs on.',
  s3: 'A bucket in Amazon S3 or in any S3-compatible service.',
  'google-drive': 'My Drive, a shared drive, or a folder in either.',
  memory: 'The memory of the server, for trying things out. Files are lost when the server stops.',
}
