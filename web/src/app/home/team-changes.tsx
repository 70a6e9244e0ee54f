import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { graphql } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { texts } from '../../texts/home.tsx'
import { listActivity, toTeamChange } from './activity.ts'
import { ChangeList, groupChanges, isTeamAction, type TeamChange } from './change-list.tsx'
import { SectionHead } from './section-head.tsx'

const TeamChangesQuery = graphql(`
  query TeamChanges {
    auditEvents(first: 100, filter: { result: "OK" }) {
      nodes {
        id at action userId userName userEmail providerId providerName path toProviderId toProviderName toPath details
      }
    }
  }
`)

const maxShown = 6
const maxRead = 100

/** The last changes of everybody. Administrators read them in the audit log, which also has shares and storages. */
export function TeamChanges({ isAdmin }: { isAdmin: boolean }) {
  const { data = [] } = useQuery({
    queryKey: [...queryKeys.auditEvents, 'home', isAdmin],
    queryFn: ({ signal }) => (isAdmin ? auditedChanges(signal) : recentChanges(signal)),
  })
  const groups = groupChanges(data).slice(0, maxShown)
  if (groups.length === 0) return null
  const [href, link] = isAdmin ? ['/settings/audit', texts.allTeam] : ['/activity', texts.allActivity]
  return (
    <section aria-labelledby="team-changes">
      <SectionHead id="team-changes" title={texts.team} href={href} link={link} />
      <ChangeList groups={groups} />
    </section>
  )
}

async function auditedChanges(signal: AbortSignal): Promise<TeamChange[]> {
  const { nodes } = (await ask(TeamChangesQuery, {}, { signal })).auditEvents
  return nodes.flatMap((event): TeamChange[] => {
    const { id, at, userId, userName, userEmail, providerId, providerName, path } = event
    const change = { id, at, userId, who: userName ?? userEmail ?? texts.server, providerId, providerName, path }
    const job = event.action === 'JOB_END' ? changeOfJob(event.details) : null
    if (job) {
      const { toProviderId, toProviderName, toPath } = event
      const target = toPath !== null && { providerId: toProviderId, providerName: toProviderName, path: toPath }
      return [{ ...change, ...target, ...job, isFolder: toPath !== null }]
    }
    return isTeamAction(event.action) ? [{ ...change, action: event.action, isFolder: false, count: null }] : []
  })
}

const actionOfJob = { COPY: 'COPY', SYNC: 'COPY', MOVE: 'MOVE', DELETE: 'DELETE', RESTORE: 'RESTORE' } as const

/** What a job has changed, from the details of the event of its end; null for one that has changed nothing. */
function changeOfJob(details: unknown) {
  const { kind, changed } = details as { kind?: keyof typeof actionOfJob; changed?: number }
  const action = kind && actionOfJob[kind]
  return action && changed ? { action, count: changed } : null
}

async function recentChanges(signal: AbortSignal): Promise<TeamChange[]> {
  return (await listActivity({ first: maxRead, after: null }, signal)).nodes.map(toTeamChange)
}
