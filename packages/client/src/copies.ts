import type { Connection, Graphql, RequestOptions } from './graphql.ts'
import type { CheckedLocation, Job, Schedule } from './schema.ts'

/** A schedule that keeps copies of a folder in other storages. */
export interface KeptCopies extends Pick<Schedule, 'id' | 'name' | 'cron' | 'timeZone' | 'enabled' | 'nextRunAt'> {
  /** The folder, and then its copies. */
  folders: readonly { providerId: string; path: string }[]
  /** Whether damaged and missing files are restored. */
  repair: boolean
  /** The days after which a file is read again. */
  recheckDays: number
  /** The latest check; null before the first one. */
  lastJob: Pick<Job, 'id' | 'state' | 'startedAt' | 'endedAt'> | null
  /** What the latest check has done: in the folder, and then in its copies. */
  checked: readonly CheckedLocation[]
}

const counts = 'providerId path readFiles readBytes copiedFiles copiedBytes damaged missing changed restored'

const listQuery = `query KeptCopies($after: String) {
  schedules(first: 50, after: $after) {
    nodes {
      id name cron timeZone enabled nextRunAt
      job { kind repair recheckDays sources { providerId path } }
      lastJob { id state startedAt endedAt copyReport { locations { ${counts} } } }
    }
    pageInfo { hasNextPage endCursor }
  }
}`

type ListedSchedule = Omit<KeptCopies, 'folders' | 'repair' | 'recheckDays' | 'checked'> & {
  job: { kind: string; repair: boolean | null; recheckDays: number | null; sources: KeptCopies['folders'] }
  lastJob: { copyReport: { locations: KeptCopies['checked'] } | null } | null
}

/** Yields the schedules that keep copies and that the credential may see, newest first. @throws StowageError */
export async function* listKeptCopies(
  graphql: Graphql,
  { signal }: RequestOptions = {},
): AsyncGenerator<KeptCopies, void, undefined> {
  const connectionOf = ({ schedules }: { schedules: Connection<ListedSchedule> }) => schedules
  for await (const schedule of graphql.nodes(listQuery, {}, connectionOf, signal && { signal })) {
    const { id, name, cron, timeZone, enabled, nextRunAt, job, lastJob } = schedule
    if (job.kind !== 'KEEP_COPIES') continue
    const { sources: folders, repair, recheckDays } = job
    const times = { cron, timeZone, enabled, nextRunAt }
    const checked = lastJob?.copyReport?.locations ?? []
    yield { id, name, ...times, folders, repair: repair === true, recheckDays: recheckDays ?? 0, lastJob, checked }
  }
}
