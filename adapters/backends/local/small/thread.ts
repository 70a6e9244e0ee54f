/** Runs in each thread of `SmallFileThreads`. A message is a list of jobs, and the response has one result for each. */
import { parentPort } from 'node:worker_threads'
import type { SmallJob } from './jobs.ts'
import { runJobs } from './run.ts'

parentPort?.on('message', (jobs: readonly SmallJob[]) => {
  const results = runJobs(jobs)
  const buffers = results.flatMap(result => (result && 'bytes' in result ? [result.bytes.buffer] : []))
  parentPort?.postMessage(results, buffers)
})
// The thread is ready.
parentPort?.postMessage(null)
