/** Runs in each thread of `BlockThreads`. A message is one job, and the response its result. */
import { parentPort } from 'node:worker_threads'
import { type BlockJob, runBlockJob } from './blocks.ts'

parentPort?.on('message', (job: BlockJob) => {
  const result = runBlockJob(job)
  // The bytes move to the other thread instead of being copied.
  parentPort?.postMessage(result, result ? [result.buffer] : [])
})
parentPort?.postMessage('ready')
