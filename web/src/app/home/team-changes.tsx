import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { nameOfPath, parentPath } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { folderHref } from '../../files/addresses.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/home.tsx'
import { Avatar } from '../../ui/avatar.tsx'
import { Time } from '../../ui/time.tsx'
import { SectionHead } from './section-head.tsx'

const TeamChangesQuery = graphql(`
  query TeamChanges {
    auditEvents(first: 100, filter: { result: "OK" }) {
      nodes { id at action userId userName userEmail providerId providerName path }
    }
  }
`)

type TeamEvent = ResultOf<typeof TeamChangesQuery>['auditEvents']['nodes'][number]

const maxShown = 6

interface TeamChange {
  event: TeamEvent
  /** The number of changes of the same kind in the same folder, one after the other. */
  count: number
}

/** The last changes of everybody, which only administrators may see. */
export function TeamChanges() {
  const { data } = useQuery({
    queryKey: [...queryKeys.auditEvents, 'home'],
    queryFn: async ({ signal }) => (await ask(TeamChangesQuery, {}, { signal })).auditEvents.nodes,
  })
  const changes = changesAmong(data ?? []).slice(0, maxShown)
  if (changes.length === 0) return null
  return (
    <section aria-labelledby="team-changes">
      <SectionHead id="team-changes" title={texts.team} href="/settings/audit" link={texts.allTeam} />
      <ul className="plain-list">
        {changes.map(({ event, count }) => {
          const who = event.userName ?? event.userEmail ?? texts.server
          return (
            <li key={event.id} className="team-change">
              <Avatar name={who} />
              <span>{texts.did(<strong>{who}</strong>, verbOf(event), <Subject event={event} count={count} />)}</span>
              <span className="help">
                <Time at={event.at} as="distance" />
              </span>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

/** Names the file of one change, or counts the files of several, and links their folder. */
function Subject({ event: { providerId, providerName, path }, count }: TeamChange) {
  if (providerId === null || path === null) return providerName
  const what = count > 1 ? texts.items(count) : common.quoted(nameOfPath(path))
  // A storage that was disconnected since has no name.
  if (providerName === null) return what
  const folder = parentPath(path)
  const name = folder === '/' ? providerName : nameOfPath(folder)
  return (
    <>
      {what} · <Link to={folderHref(providerId, folder)}>{name}</Link>
    </>
  )
}

/** Returns undefined for events that change neither files nor who can see them. */
function verbOf({ action }: TeamEvent): string | undefined {
  return action in texts.changes ? texts.changes[action as keyof typeof texts.changes] : undefined
}

function changesAmong(events: readonly TeamEvent[]): TeamChange[] {
  const changes: TeamChange[] = []
  const folderOf = ({ path }: TeamEvent) => path !== null && parentPath(path)
  for (const event of events) {
    if (verbOf(event) === undefined) continue
    const last = changes.at(-1)
    const isSame =
      last?.event.action === event.action &&
      last.event.userId === event.userId &&
      last.event.providerId === event.providerId &&
      folderOf(last.event) === folderOf(event)
    if (isSame) last.count += 1
    else changes.push({ event, count: 1 })
  }
  return changes
}
