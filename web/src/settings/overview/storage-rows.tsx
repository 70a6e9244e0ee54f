import { Link } from 'react-router'
import { formatChange } from '../../texts/format.ts'
import { texts as homeTexts } from '../../texts/home.tsx'
import { texts as insightTexts } from '../../texts/insight.ts'
import { texts } from '../../texts/overview.ts'
import { texts as storageTexts } from '../../texts/storages.tsx'
import { IndexState } from '../../ui/index-state.tsx'
import { providerStatuses, statusHelp } from '../../ui/provider-status.ts'
import { StorageLogo } from '../../ui/storage-logo.tsx'
import { StorageSpace } from '../../ui/storage-space.tsx'
import type { Overview } from './operations.ts'

type ListedStorage = Overview['storages'][number]

/** The storages with their space, what they contain, and whether they work. */
export function StorageRows({ storages }: { storages: readonly ListedStorage[] }) {
  return (
    <section className="overview-card overview-storages" aria-labelledby="overview-storages">
      <h2 id="overview-storages">{homeTexts.storages}</h2>
      {storages.length === 0 && <p className="help">{storageTexts.noStorage}</p>}
      <ul className="storage-rows">
        {storages.map(storage => (
          <StorageRow key={storage.provider.id} storage={storage} />
        ))}
      </ul>
    </section>
  )
}

function StorageRow({ storage: { provider, files, bytes, addedBytes } }: { storage: ListedStorage }) {
  const { title, badge } = providerStatuses[provider.status]
  return (
    <li className="storage-row">
      <span className="logo-plate">
        <StorageLogo type={provider.type.type} />
      </span>
      <div className="storage-row-name">
        <h3>
          <Link to="/settings/storages" dir="auto">
            {provider.name}
          </Link>
        </h3>
        <span className={`badge ${badge}`}>{title}</span>
      </div>
      <div className="storage-row-space">
        {provider.status === 'CONNECTED' ? (
          <StorageSpace provider={provider} />
        ) : (
          <p className="help">{statusHelp(provider)}</p>
        )}
        <IndexState providerId={provider.id} isDetailed={files === null} />
      </div>
      <div className="storage-row-amount">
        {files !== null && bytes !== null && <p>{insightTexts.sum(files, bytes)}</p>}
        {addedBytes !== null && addedBytes !== 0 && <p className="help">{texts.in30Days(formatChange(addedBytes))}</p>}
      </div>
    </li>
  )
}
