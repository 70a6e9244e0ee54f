import { Link } from 'react-router'
import { usePermissions } from '../../api/session.ts'
import { folderHref } from '../../files/addresses.ts'
import type { Provider } from '../../files/operations.ts'
import { texts as fileTexts } from '../../texts/files.tsx'
import { texts } from '../../texts/home.tsx'
import { texts as insightTexts } from '../../texts/insight.ts'
import { Icon } from '../../ui/icons.tsx'
import { IndexState } from '../../ui/index-state.tsx'
import { providerStatuses, statusHelp } from '../../ui/provider-status.ts'
import { StorageLogo } from '../../ui/storage-logo.tsx'
import { StorageSpace } from '../../ui/storage-space.tsx'
import { SectionHead } from './section-head.tsx'

/** The storages. Before they are known, cards stand in their places. */
export function StorageCards({ providers }: { providers: readonly Provider[] | undefined }) {
  const { isUnrestricted } = usePermissions()
  return (
    <section aria-labelledby="storages">
      <SectionHead id="storages" title={texts.storages} href="/insight" link={insightTexts.show} />
      <ul className="storage-cards">
        {providers?.map(provider => (
          <StorageCard key={folderHref(provider.id, provider.root.path)} provider={provider} />
        )) ??
          ['first', 'second', 'third'].map(key => (
            <li key={key} className="storage-card" aria-hidden="true">
              <span className="skeleton logo-plate" />
              <span className="skeleton storage-facts" />
            </li>
          ))}
        {providers && isUnrestricted && (
          <li>
            <Link className="add-storage" to="/connect">
              <Icon name="plus" />
              {fileTexts.addStorage}
            </Link>
          </li>
        )}
      </ul>
    </section>
  )
}

function StorageCard({ provider }: { provider: Provider }) {
  const { isAdmin } = usePermissions()
  const { id, name, status, type, root } = provider
  const isWorking = status === 'CONNECTED'
  const { title, badge } = providerStatuses[status]
  return (
    <li className="storage-card">
      <span className="logo-plate">
        <StorageLogo type={type.type} />
      </span>
      <div className="storage-facts">
        <h3>
          <Link to={folderHref(id, root.path)}>{name}</Link>
        </h3>
        <p>
          {type.title}
          {root.path !== '/' && (
            <>
              {' '}
              · <span className="mono">{root.path}</span>
            </>
          )}
        </p>
        {isWorking && root.path === '/' && <StorageSpace provider={provider} />}
        <IndexState providerId={id} />
        {!isWorking && (
          <p className="storage-trouble">
            <span className={`badge ${badge}`}>{title}</span> {statusHelp(provider)}{' '}
            {isAdmin ? <Link to="/settings/storages">{fileTexts.manageStorages}</Link> : fileTexts.askAdministrator}
          </p>
        )}
      </div>
    </li>
  )
}
