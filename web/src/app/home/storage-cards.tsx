import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { ask } from '../../api/client.ts'
import { graphql } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { usePermissions } from '../../api/session.ts'
import { folderHref } from '../../files/addresses.ts'
import type { Provider } from '../../files/operations.ts'
import { texts as fileTexts } from '../../texts/files.tsx'
import { formatBytes } from '../../texts/format.ts'
import { texts } from '../../texts/home.tsx'
import { texts as insightTexts } from '../../texts/insight.ts'
import { Icon } from '../../ui/icons.tsx'
import { IndexState } from '../../ui/index-state.tsx'
import { providerStatuses, statusHelp } from '../../ui/provider-status.ts'
import { SpaceMeter } from '../../ui/space-meter.tsx'
import { StorageLogo } from '../../ui/storage-logo.tsx'
import { SectionHead } from './section-head.tsx'

const SpaceQuery = graphql(`
  query ProviderSpace($id: ID!) {
    provider(id: $id) { quota { used total } quotaRule { bytes usedBytes } }
  }
`)

/** Milliseconds. The question goes to the back end. */
const staleTime = 60_000

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
        {isWorking && root.path === '/' && <Space provider={provider} />}
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

/** The quota of the workspace comes before the space that the back end reports. */
function Space({ provider: { id, name, type } }: { provider: Provider }) {
  const { data } = useQuery({
    queryKey: [...queryKeys.providers, 'space', id],
    queryFn: async ({ signal }) => (await ask(SpaceQuery, { id }, { signal })).provider,
    staleTime,
    retry: false,
  })
  const limit = data?.quotaRule?.bytes ?? data?.quota?.total ?? null
  const used = data?.quotaRule?.bytes != null ? data.quotaRule.usedBytes : (data?.quota?.used ?? null)
  if (used === null) return null
  if (limit === null || limit === 0) return <p>{texts.used(formatBytes(used))}</p>
  // A disk also holds files outside of the folder.
  const words = type.type === 'local' && data?.quotaRule?.bytes == null ? texts.usedOfDisk : texts.usedOf
  const text = words(formatBytes(used), formatBytes(limit))
  return <SpaceMeter label={texts.space(name)} text={text} used={used} limit={limit} />
}
