import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { useScopes, useSession } from '../app/use-session.ts'
import { ErrorBox } from '../ui/error-box.tsx'
import { Loading } from '../ui/loading.tsx'
import { folderHref } from './paths.ts'
import './files.css'
import { PageTitle } from '../ui/page-title.tsx'
import { Icon } from './icons.tsx'
import { type Provider, providers } from './operations.ts'

export const providersKey = ['providers', 'files'] as const

/** Those that the person reaches; none for who may not read. */
export function useProviders() {
  const mayRead = useSession().viewer.scopes.includes('read')
  return useQuery({
    queryKey: [...providersKey, mayRead],
    queryFn: ({ signal }) => (mayRead ? providers(signal) : []),
    staleTime: 30_000,
  })
}

const statuses: Record<Provider['status'], { label: string; tone: string; advice: string }> = {
  CONNECTED: { label: 'Connected', tone: 'good', advice: '' },
  NEEDS_AUTHORIZATION: { label: 'Needs consent', tone: 'warn', advice: 'Somebody has yet to give consent to it.' },
  NEEDS_RECONNECT: { label: 'Needs to be reconnected', tone: 'warn', advice: 'Its consent is gone.' },
  UNAVAILABLE: { label: 'Unavailable', tone: 'bad', advice: 'It did not work when it was last tried.' },
}

export function FilesHome() {
  const { data, error, refetch } = useProviders()
  const { isAdmin, reachesAll } = useScopes()
  return (
    <main className="page">
      <PageTitle>Files</PageTitle>
      <div className="page-head">
        <h1>Files</h1>
        {isAdmin && reachesAll && data && data.length > 0 && (
          <Link className="button" to="/connect">
            Connect storage
          </Link>
        )}
      </div>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!data && !error && <Loading label="Reading your storage" />}
      {data?.length === 0 && <NoStorage mayConnect={isAdmin && reachesAll} />}
      {data && data.length > 0 && (
        <ul className="provider-list">
          {data.map(provider => (
            <ProviderCard key={provider.id} provider={provider} isAdmin={isAdmin} />
          ))}
        </ul>
      )}
    </main>
  )
}

function ProviderCard({ provider, isAdmin }: { provider: Provider; isAdmin: boolean }) {
  const { id, name, status, statusReason, type, root } = provider
  const { label, tone, advice } = statuses[status]
  return (
    <li className="provider-card">
      <Icon name="drive" />
      <div className="provider-facts">
        <div className="provider-name">
          <h2>
            <Link to={folderHref(id, root.path)}>{name}</Link>
          </h2>
          <span className={`badge ${tone}`}>{label}</span>
        </div>
        <p>
          {type.title}
          {root.path !== '/' && (
            <>
              {' '}
              · <span className="mono">{root.path}</span>
            </>
          )}
        </p>
        {status !== 'CONNECTED' && (
          <p className="provider-trouble">
            {(status === 'NEEDS_AUTHORIZATION' ? null : statusReason) ?? advice}{' '}
            {isAdmin ? (
              <Link to="/settings/providers">Go to providers</Link>
            ) : (
              'Ask an administrator of this workspace.'
            )}
          </p>
        )}
      </div>
    </li>
  )
}

function NoStorage({ mayConnect }: { mayConnect: boolean }) {
  return (
    <div className="empty">
      {mayConnect ? (
        <>
          <p>No storage is connected yet: a folder on this server, an S3 bucket or a Google Drive.</p>
          <Link className="button primary" to="/connect">
            Connect your first storage
          </Link>
        </>
      ) : (
        <p>
          There are no files that you may see yet. Ask an owner or administrator of this workspace to give you a role
          and access to its storage.
        </p>
      )}
    </div>
  )
}
