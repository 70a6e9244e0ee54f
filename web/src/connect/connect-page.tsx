import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useNavigate } from 'react-router'
import { ask } from '../api/request.ts'
import { useScopes } from '../app/use-session.ts'
import { Choices } from '../ui/choices.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Loading } from '../ui/loading.tsx'
import { PageTitle } from '../ui/page-title.tsx'
import { tell } from '../ui/toasts.tsx'
import { ConnectForm } from './connect-form.tsx'
import { Consent } from './consent.tsx'
import { type Connected, type ProviderType, ProviderTypesQuery } from './operations.ts'

export function ConnectPage() {
  const { isAdmin, reachesAll } = useScopes()
  return (
    <main className="narrow-page connect">
      <PageTitle>Connect a storage</PageTitle>
      {isAdmin && reachesAll ? (
        <Connecting />
      ) : (
        <>
          <h1>Connect a storage</h1>
          <p>Only administrators of the whole workspace can connect a storage: ask one of them.</p>
          <p>
            <Link to="/files">Go to the files</Link>
          </p>
        </>
      )}
    </main>
  )
}

function Connecting() {
  const { data, error, refetch } = useQuery({
    queryKey: ['providers', 'types'],
    queryFn: ({ signal }) => ask(ProviderTypesQuery, {}, { signal }),
    // The form must not lose what was typed into it.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: 'always',
  })
  const client = useQueryClient()
  const navigate = useNavigate()
  const [picked, setPicked] = useState<string | null>(null)
  const [waiting, setWaiting] = useState<{ provider: Connected; type: ProviderType } | null>(null)
  if (error && !data) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label="Loading the kinds of storage" />

  const types = data.providerTypes
  const type = types.find(({ type }) => type === picked) ?? types[0]
  const finish = async ({ id, name }: Connected) => {
    tell(`“${name}” is connected`)
    await client.invalidateQueries({ queryKey: ['providers'] })
    await navigate(`/files/${id}`)
  }
  if (waiting) {
    const { provider } = waiting
    return (
      <>
        <h1>Give consent for “{provider.name}”</h1>
        <Consent
          providerId={provider.id}
          vendor={waiting.type.title}
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
        Files stay where they are: Stowage shows them, and what you upload is stored there. You can connect more at any
        time.
      </p>
      {!type ? (
        <ErrorBox error="This server has no kind of storage: see STOWAGE_ADAPTERS." />
      ) : (
        <>
          <Choices
            label="Where are the files?"
            choices={types.map(({ type, title, builtIn }) => ({
              value: type,
              title,
              help: about[type] ?? (builtIn ? undefined : 'From an adapter that was added to this server.'),
            }))}
            value={type.type}
            onChange={setPicked}
          />
          <ConnectForm
            key={type.type}
            type={type}
            onConnected={provider => {
              if (provider.authorizationUrl === null) void finish(provider)
              else setWaiting({ provider, type })
            }}
          />
        </>
      )}
      <p className="aside">
        <Link to="/files">{isFirst ? 'Later: go to the files' : 'Back to the files'}</Link>
      </p>
    </>
  )
}

const about: Record<string, string> = {
  local: 'A folder on the server that Stowage runs on.',
  s3: 'A bucket at Amazon S3, or at any server that speaks its language.',
  'google-drive': 'My Drive, a shared drive, or a folder in either.',
  memory: 'Kept in the memory of the server, and gone when it stops: to try things out.',
}
