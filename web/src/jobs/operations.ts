/** The GraphQL operations of the jobs. */

import { ask } from '../api/client.ts'
import { graphql, type ResultOf } from '../api/graphql.ts'

export const JobFields = graphql(`
  fragment JobFields on Job @_unmask {
    id
    kind
    state
    dryRun
    sources { providerId path }
    target { providerId path }
    targetName
    progress { files bytes skipped deleted failed totalFiles totalBytes bytesPerSecond }
    error { reason message }
    createdAt
    endedAt
    createdBy { id name email }
  }
`)

const JobsQuery = graphql(
  `
  query Jobs($after: String, $state: JobState) {
    jobs(first: 25, after: $after, state: $state) {
      nodes { ...JobFields }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [JobFields],
)

export const JobChanged = graphql(
  `
  subscription JobChanged {
    jobChanged { ...JobFields }
  }
`,
  [JobFields],
)

const FailuresQuery = graphql(`
  query JobFailures($id: ID!, $after: String) {
    job(id: $id) {
      failures(first: 50, after: $after) {
        nodes { path reason message }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`)

const StorageNamesQuery = graphql(`
  query StorageNames {
    providers { id name }
  }
`)

const PauseMutation = graphql(`
  mutation PauseJob($id: ID!) { pauseJob(id: $id) { id } }
`)
const ResumeMutation = graphql(`
  mutation ResumeJob($id: ID!) { resumeJob(id: $id) { id } }
`)
const CancelMutation = graphql(`
  mutation CancelJob($id: ID!) { cancelJob(id: $id) { id } }
`)
const RetryMutation = graphql(`
  mutation RetryJob($id: ID!) { retryJob(id: $id) { id } }
`)

export type Job = ResultOf<typeof JobsQuery>['jobs']['nodes'][number]
export type JobStateName = Job['state']
export type JobAction = 'pause' | 'resume' | 'cancel' | 'retry'

/** Returns a page of jobs, the newest first. @throws StowageError */
export async function listJobs(after: string | null, state: JobStateName | null, signal: AbortSignal) {
  return (await ask(JobsQuery, { after, state }, { signal })).jobs
}

/** @throws StowageError */
export async function listFailures(id: string, after: string | null, signal: AbortSignal) {
  return (await ask(FailuresQuery, { id, after }, { signal })).job.failures
}

/** Returns the names of the storages by their ids. @throws StowageError */
export async function storageNames(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const { providers } = await ask(StorageNamesQuery, {}, { signal })
  return new Map(providers.map(({ id, name }) => [id, name]))
}

const mutations = { pause: PauseMutation, resume: ResumeMutation, cancel: CancelMutation, retry: RetryMutation }

/** @throws StowageError */
export async function control(action: JobAction, id: string): Promise<void> {
  await ask(mutations[action] as typeof PauseMutation, { id })
}
