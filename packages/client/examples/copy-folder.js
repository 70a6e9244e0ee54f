// Copies a folder into a folder of another storage, on the server, and prints the progress:
//   STOWAGE_URL=https://files.example.org STOWAGE_API_KEY=stw_... node copy-folder.js FROM_ID /photos TO_ID /backup
import { Stowage } from '@stowage/client'

const [fromId, from, toId, to] = process.argv.slice(2)
const stowage = new Stowage({ url: process.env.STOWAGE_URL, credential: process.env.STOWAGE_API_KEY })

const { createJob } = await stowage.graphql(
  'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }',
  {
    input: {
      kind: 'COPY',
      sources: [{ providerId: fromId, path: from }],
      target: { providerId: toId, path: to },
      conflict: 'SKIP',
    },
  },
)
const { state, error, progress } = await stowage.jobs.wait(createJob.job.id, {
  onProgress: ({ progress }) => process.stdout.write(`${progress.files} of ${progress.totalFiles ?? '?'} files\n`),
})
process.stdout.write(`${state}: ${progress.files} files, ${progress.skipped} skipped, ${progress.failed} failed\n`)
if (error) process.stdout.write(`${error.message}\n`)
process.exitCode = state === 'SUCCEEDED' && progress.failed === 0 ? 0 : 1
