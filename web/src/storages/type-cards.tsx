import { Link } from 'react-router'
import { texts } from '../texts/storages.tsx'
import { StorageLogo } from '../ui/storage-logo.tsx'
import type { ProviderType } from './operations.ts'

const groups = ['THIS_SERVER', 'CLOUD_ACCOUNTS', 'SERVERS_AND_BUCKETS'] as const

/** The types of storage, in the groups in which people look for theirs. */
export function TypeCards({ types }: { types: readonly ProviderType[] }) {
  return groups.map(group => {
    const own = types.filter(type => type.group === group)
    if (own.length === 0) return null
    return (
      <section key={group} className="type-group" aria-labelledby={`group-${group}`}>
        <h2 id={`group-${group}`}>{texts.groups[group]}</h2>
        <ul>
          {own.map(({ type, title, builtIn }) => (
            <li key={type} className="type-card">
              <span className="logo-plate">
                <StorageLogo type={type} />
              </span>
              <div>
                <h3>
                  <Link to={`/connect?type=${encodeURIComponent(type)}`}>{title}</Link>
                </h3>
                <p>{texts.typeHelp[type] ?? (builtIn ? '' : texts.addedAdapter)}</p>
              </div>
            </li>
          ))}
        </ul>
      </section>
    )
  })
}
