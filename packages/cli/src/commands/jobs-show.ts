import { command } from '../command.ts'
import { jobFields, jobRecord, jobText } from '../jobs/job.ts'
import { findJob } from '../jobs/run-job.ts'

const failureFields = ['storage', 'path', 'reason', 'message'] as const
const pageSize = 500

export const jobsShow = command({
  name: 'jobs show',
  operands: '<id>',
  help: 'Print a job and everything that failed in it.',
  options: {},
  json: { job: jobFields, failure: failureFields },
  async run({ output, connect }, { operands: [id = ''] }) {
    const server = await connect()
    const storages = await server.storages()
    for (let after: string | null = null, isFirst = true, hasNext = true; hasNext; isFirst = false) {
      const job = await findJob(server, id, { first: pageSize, after })
      if (isFirst) await output.result(jobRecord(job), jobText(job), ...(job.error ? [job.error.message] : []))
      for (const { providerId, path, reason, message } of job.failures.nodes) {
        const storage = storages.find(each => each.id === providerId)?.name ?? providerId
        const record = { storage, path, reason, message } satisfies Record<(typeof failureFields)[number], unknown>
        await output.result(record, `${storage}:${path}: ${message}`)
      }
      after = job.failures.pageInfo.endCursor
      hasNext = job.failures.pageInfo.hasNextPage
    }
  },
})
