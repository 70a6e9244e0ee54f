/**
 * Jobs that the server runs for a command: creates them, waits for them, and prints them. `copy-between.ts` decides whether a copy
 * between storages needs one.
 */
import type { Job, schema } from '../../../client/src/index.ts'
import { CommandError, exitCodeOf, exitCodes } from '../errors.ts'
import type { Output } from '../output.ts'
import type { Server } from '../server.ts'
import { barText, count, formatBytes } from '../terminal/bar.ts'

/** The fields of a job that the commands print. */
export const jobFields = [
  'id',
  'kind',
  'state',
  'dryRun',
  'files',
  'totalFiles',
  'bytes',
  'totalBytes',
  'skipped',
  'deleted',
  'failed',
  'error',
  'createdAt',
  'endedAt',
] as const

export const jobSelection = `id kind state dryRun createdAt endedAt error { reason message }
  progress { files bytes totalFiles totalBytes skipped deleted failed }`

export type ListedJob = Pick<schema.Job, 'id' | 'kind' | 'state' | 'dryRun' | 'createdAt' | 'endedAt' | 'error'> & {
  progress: Pick<schema.JobProgress, 'files' | 'bytes' | 'totalFiles' | 'totalBytes' | 'skipped' | 'deleted' | 'failed'>
}

export function jobRecord(job: ListedJob): Record<(typeof jobFields)[number], unknown> {
  const { id, kind, state, dryRun, error, createdAt, endedAt, progress } = job
  const { files, totalFiles, bytes, totalBytes, skipped, deleted, failed } = progress
  const counts = { files, totalFiles, bytes, totalBytes, skipped, deleted, failed }
  return { id, kind, state, dryRun, ...counts, error, createdAt, endedAt }
}

export function jobText({ id, kind, state, progress }: ListedJob): string {
  const { files, bytes, skipped, deleted, failed } = progress
  const counts = [`${count(files, 'file')} (${formatBytes(bytes)})`]
  if (skipped > 0) counts.push(`${skipped} skipped`)
  if (deleted > 0) counts.push(`${deleted} deleted`)
  if (failed > 0) counts.push(`${failed} failed`)
  return `${id}  ${kind}  ${state}  ${counts.join(', ')}`
}

export interface JobContext {
  server: Server
  output: Output
  signal: AbortSignal
}

/** Milliseconds to cancel a job after Ctrl-C. */
const cancelTimeout = 5000

/** The number of failures that are printed. `jobs show` prints all of them. */
const shownFailures = 50

/** Creates a job and, unless it is detached, waits for its end. Ctrl-C cancels the job. Returns the ID of the job. */
export async function runJob(context: JobContext, input: schema.CreateJobInput, isDetached: boolean): Promise<string> {
  const { server, output } = context
  const document = `mutation Create($input: CreateJobInput!) { createJob(input: $input) { job { ${jobSelection} } } }`
  // Without the signal, because a job whose ID is unknown could not be canceled.
  const { createJob } = await server.stowage.graphql<{ createJob: { job: ListedJob } }, object>(document, { input })
  const { job } = createJob
  if (isDetached) {
    await output.result(jobRecord(job), jobText(job))
    return job.id
  }
  try {
    const ended = await followJob(context, job.id)
    await output.summary(jobRecord(ended), jobText(ended))
    requireSuccess(ended, output)
    return job.id
  } catch (error) {
    if (context.signal.aborted) await cancel(context, job.id)
    throw error
  }
}

/** Waits for the end of a job, shows its progress, and reports what failed. */
export async function followJob({ server, output, signal }: JobContext, id: string): Promise<ListedJob> {
  const onProgress = ({ state, progress }: Job) => {
    output.showBar(`${state}  ${barText(progress)}`)
  }
  try {
    await server.stowage.jobs.wait(id, { signal, onProgress })
  } finally {
    output.showBar('')
  }
  const job = await findJob(server, id, { after: null, first: shownFailures })
  for (const failure of job.failures.nodes) await reportFailure(server, output, failure)
  const more = job.progress.failed - job.failures.nodes.length
  if (more > 0) output.note(`${more} more failed: stowage jobs show ${id}`)
  return job
}

/** @throws CommandError if the job ended without success, and no failure says why */
export function requireSuccess({ state, error }: ListedJob, output: Output): void {
  if (error) throw new CommandError(error.message, error.reason, exitCodeOf(error.reason))
  if (state !== 'SUCCEEDED' && output.failures === 0) {
    throw new CommandError(`The job has the state ${state}.`, state, exitCodes.failure.code)
  }
}

type JobWithFailures = ListedJob & {
  failures: {
    nodes: readonly Pick<schema.JobFailure, 'providerId' | 'path' | 'reason' | 'message'>[]
    pageInfo: Pick<schema.PageInfo, 'hasNextPage' | 'endCursor'>
  }
}

/** @throws StowageError */
export async function findJob(
  server: Server,
  id: string,
  page: { first: number; after: string | null },
): Promise<JobWithFailures> {
  const document = `query Job($id: ID!, $first: Int!, $after: String) { job(id: $id) {
    ${jobSelection}
    failures(first: $first, after: $after) {
      nodes { providerId path reason message }
      pageInfo { hasNextPage endCursor }
    }
  } }`
  const { job } = await server.graphql<{ job: JobWithFailures }>(document, { id, ...page })
  return job
}

async function reportFailure(
  server: Server,
  output: Output,
  { providerId, path, reason, message }: JobWithFailures['failures']['nodes'][number],
): Promise<void> {
  const storage = (await server.storages()).find(({ id }) => id === providerId)
  const error = new CommandError(message, reason, exitCodeOf(reason))
  output.failure(error, `${storage?.name ?? providerId}:${path}`)
}

async function cancel({ server, output }: JobContext, id: string): Promise<void> {
  const document = 'mutation Cancel($id: ID!) { cancelJob(id: $id) { state } }'
  try {
    const signal = AbortSignal.timeout(cancelTimeout)
    await server.stowage.graphql<object, object>(document, { id }, { signal })
    output.warn(`Job ${id} is canceled. Its finished work stays.`)
  } catch {
    output.warn(`Job ${id} may still run: see "stowage jobs show ${id}", and stop it with "stowage jobs cancel ${id}".`)
  }
}
