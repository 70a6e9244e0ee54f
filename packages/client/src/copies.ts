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
  /** The results of the latest check: in the folder, and then in its copies. */
  checked: readonly CheckedLocation[]
}

/** The options of `copies.create`. */
export interface NewCopies {
  name: string
  /** The folder, and then 1 to 4 folders in other storages for its copies. */
  folders: readonly { providerId: string; path: string }[]
  /** When copies are made and checked, as a cron pattern. Default: at three o'clock each night. */
  cron?: string
  /** Default: UTC. */
  timeZone?: string
  /** Whether damaged and missing files are restored from a good copy. Default: false. */
  repair?: boolean
  /** Whether the copies of files that were deleted through the server are deleted, too. Default: false. */
  deleteExtra?: boolean
  /** The days after which each file is read again. Default: 30. */
  recheckDays?: number
}

const createMutation = `mutation KeepCopies($input: CreateScheduleInput!) {
  createSchedule(input: $input) { schedule { id name nextRunAt } }
}`

const checkMutation = 'mutation CheckCopies($id: ID!) { runSchedule(id: $id) { id } }'

/** Creates a schedule that keeps copies of a folder. @throws StowageError */
export async function createCopies(
  graphql: Graphql,
  { name, folders, cron = '0 3 * * *', timeZone = 'UTC', ...options }: NewCopies,
  request?: RequestOptions,
): Promise<Pick<Schedule, 'id' | 'name' | 'nextRunAt'>> {
  const input = { name, cron, timeZone, job: { kind: 'KEEP_COPIES', sources: folders, ...options } }
  type Created = { createSchedule: { schedule: Pick<Schedule, 'id' | 'name' | 'nextRunAt'> } }
  return (await graphql.run<Created, object>(createMutation, { input }, request)).createSchedule.schedule
}

/** Starts a check now. Resolves with the id of its job. @throws StowageError */
export async function checkCopies(graphql: Graphql, id: string, request?: RequestOptions): Promise<string> {
  return (await graphql.run<{ runSchedule: { id: string } }, object>(checkMutation, { id }, request)).runSchedule.id
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
