import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { graphql } from '../../api/graphql.ts'
import type { StorageLocation } from '../../api/locations.ts'
import { texts as auditTexts } from '../../texts/audit.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { formatMinute } from '../../texts/format.ts'
import { texts as homeTexts } from '../../texts/home.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'

const EntryActivityQuery = graphql(`
  query EntryActivity($within: [LocationInput!]!) {
    activity(first: 20, within: $within) {
      nodes { id at action userName isByShareLink fileCount destination { path } }
    }
  }
`)

/** What has changed at an entry and below it, for members who may not read the audit log. */
export function EntryActivity({ location: { providerId, path } }: { location: StorageLocation }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['entry-activity', providerId, path],
    queryFn: async ({ signal }) =>
      (await ask(EntryActivityQuery, { within: [{ providerId, path }] }, { signal })).activity.nodes,
    gcTime: 0,
  })
  return (
    <section aria-label={homeTexts.activity}>
      <h3>{homeTexts.activity}</h3>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!data && !error && <Loading label={common.loading} />}
      {data?.length === 0 && <p className="help">{homeTexts.noActivity}</p>}
      {data && data.length > 0 && (
        <ul className="history">
          {data.map(({ id, at, action, userName, isByShareLink, fileCount, destination }) => {
            const who = isByShareLink ? homeTexts.visitor : (userName ?? homeTexts.server)
            const count = fileCount === null ? '' : ` (${homeTexts.items(fileCount)})`
            const what = auditTexts.actions[action] + count + (destination === null ? '' : ` → ${destination.path}`)
            return (
              <li key={id}>
                <span>{texts.event(who, what, null)}</span>
                <time dateTime={at}>{formatMinute(at)}</time>
              </li>
            )
          })}
        </ul>
      )}
    </section>
  )
}
