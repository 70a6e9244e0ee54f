/** The overview for administrators: what needs attention, how the usage grows, the storages, the people, and what runs. */
import { useQuery } from '@tanstack/react-query'
import { queryKeys } from '../../api/query-keys.ts'
import { texts } from '../../texts/overview.ts'
import { ErrorBox } from '../../ui/error-box.tsx'
import { AdminOnly, PageHead } from '../../ui/page.tsx'
import { Attention } from './attention.tsx'
import { readOverview } from './operations.ts'
import { People } from './people.tsx'
import { RunningServers } from './running-servers.tsx'
import { StorageRows } from './storage-rows.tsx'
import { UsageCard } from './usage-card.tsx'
import '../../ui/overlays.css'
import './overview.css'

/** Milliseconds. A page that nobody sees asks for nothing. */
const refetchInterval = 30_000

export function OverviewPage() {
  return (
    <AdminOnly title={texts.overview} needsUnrestricted>
      <PageHead title={texts.overview} />
      <Sections />
    </AdminOnly>
  )
}

function Sections() {
  const { data, error, refetch } = useQuery({
    queryKey: queryKeys.overview,
    queryFn: ({ signal }) => readOverview(signal),
    refetchInterval,
  })
  if (!data) return error ? <ErrorBox error={error} retry={refetch} /> : <Skeleton />
  return (
    <div className="overview">
      {error && <ErrorBox error={error} retry={refetch} />}
      <Attention failures={data.failures} />
      <UsageCard storages={data.storages} />
      <People people={data.people} />
      <StorageRows storages={data.storages} />
      <RunningServers server={data.server} />
    </div>
  )
}

function Skeleton() {
  return (
    <div className="overview" role="status" aria-label={texts.loading}>
      {['attention', 'usage', 'people', 'storages', 'servers'].map(name => (
        <div key={name} className={`overview-card overview-${name}`} aria-hidden="true">
          <span className="skeleton" />
          <span className="skeleton overview-blank" />
        </div>
      ))}
    </div>
  )
}
