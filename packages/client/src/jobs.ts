import { networkError } from './error.ts'
import type { Graphql, RequestOptions } from './graphql.ts'
import type { Job as SchemaJob, JobProgress as SchemaJobProgress } from './schema.ts'

export type JobProgress = Pick<
  SchemaJobProgress,
  'files' | 'bytes' | 'totalFiles' | 'totalBytes' | 'bytesPerSecond' | 'skipped' | 'deleted' | 'failed'
>

export type Job = Pick<SchemaJob, 'id' | 'kind' | 'state' | 'error'> & { progress: JobProgress }

export interface WaitOptions extends RequestOptions {
  /** Called with each new state, about once a second while the job runs. */
  onProgress?: (job: Job) => void
}

const subscription = `subscription Wait($id: ID!) {
  jobChanged(id: $id) {
    id kind state error { reason message }
    progress { files bytes totalFiles totalBytes bytesPerSecond skipped deleted failed }
  }
}`

const ended: ReadonlySet<string> = new Set(['SUCCEEDED', 'FAILED', 'CANCELED'])

/**
 * Waits until a job has ended, through lost connections and restarts of the server. A paused job goes on waiting.
 * @returns the job, whose state is SUCCEEDED, FAILED or CANCELED
 * @throws StowageError if the job cannot be seen, or the server cannot be reached for several retries
 */
export async function waitForJob(graphql: Graphql, id: string, { signal, onProgress }: WaitOptions = {}): Promise<Job> {
  const events = graphql.subscribe<{ jobChanged: Job }, { id: string }>(subscription, { id }, signal && { signal })
  for await (const { jobChanged: job } of events) {
    onProgress?.(job)
    if (ended.has(job.state)) return job
  }
  throw networkError('The subscription ended before the job.')
}

/** The maximum number of sources of one job. */
const maxSources = 100
/** Bytes of UTF-8 of all paths of these sources together. */
const maxPathsBytes = 64 * 1024

const encoder = new TextEncoder()

/** Divides any number of sources among jobs, in their order. Yields as many as one job can have. */
export function* sourcesOfJobs<Source extends { path: string }>(all: readonly Source[]): Generator<Source[]> {
  let sources: Source[] = []
  let bytes = 0
  for (const source of all) {
    const added = encoder.encode(source.path).length
    if (sources.length === maxSources || (sources.length > 0 && bytes + added > maxPathsBytes)) {
      yield sources
      sources = []
      bytes = 0
    }
    sources.push(source)
    bytes += added
  }
  if (sources.length > 0) yield sources
}
