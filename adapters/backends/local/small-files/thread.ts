/** Runs in each thread of `SmallFileThreads`. A message is a list of jobs, and the response has one result for each. */
import { parentPort } from 'node:worker_threads'
import { isChange, type SmallJob, type SmallResult, slowSync } from './jobs.ts'
import { readList, readSmall, readStat, readStats } from './read.ts'
import { copySmall, writeSmall } from './write.ts'

/** Milliseconds after which no further file of `SmallCopies` begins. */
const copyTime = 5

/** Does the jobs one after the other. Returns null for writes after a slow one, so that no job waits long for others. */
export function runJobs(jobs: readonly SmallJob[], slow = slowSync): SmallResult[] {
  const end = performance.now() + copyTime
  let isSlow = false
  return jobs.map(job => {
    if (isSlow && isChange(job)) return null
    const result = attempt(job, end)
    isSlow ||= result !== null && 'syncTime' in result && result.syncTime > slow
    return result
  })
}

function attempt(job: SmallJob, end: number): SmallResult {
  try {
    return run(job, end)
  } catch {
    // The error came before the file was visible. The general way finds it again and reports it.
    return null
  }
}

function run(job: SmallJob, end: number): SmallResult {
  if (job.kind === 'read') return readSmall(job)
  if (job.kind === 'stat') return readStat(job)
  if (job.kind === 'stats') return readStats(job)
  if (job.kind === 'list') return readList(job)
  if (job.kind === 'write') return writeSmall(job, job.bytes, job.modifiedAt)
  if (job.kind === 'copies') return copySmall(job, end)
  const file = readSmall(job.from)
  return file && writeSmall(job, file.bytes, file.entry.modifiedAt ?? undefined)
}

parentPort?.on('message', (jobs: readonly SmallJob[]) => {
  const results = runJobs(jobs)
  const buffers = results.flatMap(result => (result && 'bytes' in result ? [result.bytes.buffer] : []))
  parentPort?.postMessage(results, buffers)
})
// The thread is ready.
parentPort?.postMessage(null)
