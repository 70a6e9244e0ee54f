/**
 * The files of all storages: the list of storages in this file, the pages of a folder, of the trash and of a share link, previews,
 * uploads and downloads. `operations.ts` speaks to the server, and `listing.ts` holds what it returned.
 */
import { Link } from 'react-router'
import { usePermissions } from '../api/session.ts'
import { texts } from '../texts/files.tsx'
import { texts as insightTexts } from '../texts/insight.ts'
import { ErrorBox } from '../ui/error-box.tsx'
import { Loading } from '../ui/loading.tsx'
import { folderHref } from './addresses.ts'
import './files.css'
import { Icon } from '../ui/icons.tsx'
import { IndexState } from '../ui/index-state.tsx'
import { PageTitle } from '../ui/page.tsx'
import { providerStatuses, statusHelp } from '../ui/provider-status.ts'
import { useProviders } from './listing.ts'
import type { Provider } from './operations.ts'

export function FilesHome() {
  const { data, error, refetch } = useProviders()
  const { isAdmin, isUnrestricted } = usePermissions()
  return (
    <main className="page">
      <PageTitle>{texts.files}</PageTitle>
      <div className="page-head">
        <h1>{texts.files}</h1>
        {data && data.length > 0 && (
          <Link className="button" to="/insight">
            <Icon name="chart" />
            {insightTexts.show}
          </Link>
        )}
        {isUnrestricted && data && data.length > 0 && (
          <Link className="button" to="/connect">
            {texts.addStorage}
          </Link>
        )}
      </div>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!data && !error && <Loading label={texts.loadingStorages} />}
      {data?.length === 0 && <NoStorage isUnrestricted={isUnrestricted} />}
      {data && data.length > 0 && (
        <ul className="provider-list">
          {data.map(provider => (
            <StorageCard key={folderHref(provider.id, provider.root.path)} provider={provider} isAdmin={isAdmin} />
          ))}
        </ul>
      )}
    </main>
  )
}

function StorageCard({ provider, isAdmin }: { provider: Provider; isAdmin: boolean }) {
  const { id, name, status, type, root } = provider
  const { title, badge } = providerStatuses[status]
  return (
    <li className="provider-card">
      <Icon name="drive" />
      <div className="provider-facts">
        <div className="provider-name">
          <h2>
            <Link to={folderHref(id, root.path)}>{name}</Link>
          </h2>
          <span className={`badge ${badge}`}>{title}</span>
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
        <IndexState providerId={id} />
        {status !== 'CONNECTED' && (
          <p className="provider-trouble">
            {statusHelp(provider)}{' '}
            {isAdmin ? <Link to="/settings/storages">{texts.manageStorages}</Link> : texts.askAdministrator}
          </p>
        )}
      </div>
    </li>
  )
}

function NoStorage({ isUnrestricted }: { isUnrestricted: boolean }) {
  return (
    <div className="empty">
      {isUnrestricted ? (
        <>
          <p>{texts.noStorage}</p>
          <Link className="button primary" to="/connect">
            {texts.addFirstStorage}
          </Link>
        </>
      ) : (
        <p>{texts.noAccess}</p>
      )}
    </div>
  )
}
