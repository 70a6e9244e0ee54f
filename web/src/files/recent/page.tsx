/** The files of all storages that were changed last, and those that the person opened last in this browser. */
import { Link } from 'react-router'
import { useSession } from '../../api/session.ts'
import { texts } from '../../texts/home.tsx'
import { Icon } from '../../ui/icons.tsx'
import { KindIcon } from '../../ui/kind-icon.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { PageHead } from '../../ui/page.tsx'
import { entryHref } from '../addresses.ts'
import { EntryList } from '../entry-list/list.tsx'
import { useReload } from '../entry-list/use-reload.ts'
import { kindOf } from '../kinds.ts'
import { useProviders } from '../listing.ts'
import { useRecentFiles } from '../tree/recent-files.ts'
import { useNewestFiles } from './operations.ts'
import './recent.css'

const count = 50

export function RecentPage() {
  const query = useNewestFiles(count)
  const reload = useReload('newest')
  const { data } = query
  return (
    <main className="page">
      <PageHead title={texts.recent} />
      <OpenedFiles />
      <LoadState query={query} label={texts.loadingRecent} />
      {data?.length === 0 && (
        <div className="empty">
          <Icon name="clock" />
          <p className="empty-title">{texts.nothingRecent}</p>
          <p>{texts.nothingRecentHelp}</p>
        </div>
      )}
      {data && data.length > 0 && (
        <section>
          <h2>{texts.changed}</h2>
          <EntryList label={texts.changed} entries={data} onChanged={reload} />
        </section>
      )}
    </main>
  )
}

/** The files that the person opened last in this browser. */
function OpenedFiles() {
  const { user } = useSession().viewer
  const { data: providers = [] } = useProviders()
  const files = useRecentFiles(user.id).filter(file => providers.some(({ id }) => id === file.providerId))
  if (files.length === 0) return null
  return (
    <section aria-labelledby="opened-files">
      <h2 id="opened-files">{texts.opened}</h2>
      <ul className="opened-files">
        {files.map(({ providerId, path, name }) => (
          <li key={`${providerId}${path}`}>
            <Link to={entryHref(providerId, { __typename: 'File', path })} title={path}>
              <KindIcon kind={kindOf({ __typename: 'File', name, mimeType: null })} />
              <span dir="auto">{name}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}
