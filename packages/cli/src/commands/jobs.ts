/** The commands for jobs of the server. */
import { type Connection, sourcesOfJobs } from '../../../client/src/index.ts'
import { type Command, command } from '../command.ts'
import {
  findJob,
  followJob,
  jobFields,
  jobRecord,
  jobSelection,
  jobText,
  type ListedJob,
  requireSuccess,
  runJob,
} from '../jobs/run-job.ts'
import { parseRemote } from '../operand.ts'
import { detachOption, parseNumber } from '../options.ts'

const listQuery = `query Jobs($first: Int!, $after: String, $state: JobState) {
  jobs(first: $first, after: $after, state: $state) {
    nodes { ${jobSelection} }
    pageInfo { hasNextPage endCursor }
  }
}`

const maxPage = 100

export const jobsList = command({
  name: 'jobs list',
  operands: '',
  help: 'List jobs, newest first.',
  options: {
    state: {
      value: 'state',
      choices: ['queued', 'running', 'paused', 'succeeded', 'failed', 'canceled'],
      help: 'List only jobs in this state.',
    },
    limit: { value: 'number', help: 'The number of jobs. The default is 20.' },
  },
  json: { job: jobFields },
  async run({ output, connect }, { options }) {
    let left = parseNumber(options.limit ?? '20', 'limit')
    const state = options.state?.toUpperCase() ?? null
    const server = await connect()
    const variables = { first: Math.min(left, maxPage), state }
    const found = server.nodes(listQuery, variables, ({ jobs }: { jobs: Connection<ListedJob> }) => jobs)
    for await (const job of found) {
      await output.result(jobRecord(job), `${job.createdAt}  ${jobText(job)}`)
      left -= 1
      if (left === 0) return
    }
  },
})

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

export const jobsWait = command({
  name: 'jobs wait',
  operands: '<id>',
  help: 'Wait until a job has ended, and fail if it failed. Ctrl-C does not cancel it.',
  options: {},
  json: { job: jobFields },
  async run(context, { operands: [id = ''] }) {
    const { output, connect } = context
    const job = await followJob({ ...context, server: await connect() }, id)
    await output.result(jobRecord(job), jobText(job))
    requireSuccess(job, output)
  },
})

/** The commands that change a job have the names of the mutations. */
function changeCommand(word: 'pause' | 'resume' | 'cancel' | 'retry', help: string): Command {
  const document = `mutation Change($id: ID!) { job: ${word}Job(id: $id) { ${jobSelection} } }`
  return command({
    name: `jobs ${word}`,
    operands: '<id>',
    help,
    options: {},
    json: { job: jobFields },
    async run({ output, connect }, { operands: [id = ''] }) {
      const server = await connect()
      const { job } = await server.graphql<{ job: ListedJob }>(document, { id })
      await output.result(jobRecord(job), jobText(job))
    },
  })
}

export const jobsPause = changeCommand('pause', 'Pause a job within a second.')
export const jobsResume = changeCommand('resume', 'Continue a paused job.')
export const jobsCancel = changeCommand('cancel', 'Cancel a job within a second. Its finished work stays.')
export const jobsRetry = changeCommand('retry', 'Start an ended job again for what failed.')

export const verify = command({
  name: 'verify',
  operands: '<path>...',
  help: 'Read files and folders in a storage again, in a job, and list what is damaged, and what is gone without having been deleted through the server.',
  options: { ...detachOption },
  json: { job: jobFields },
  async run(context, { operands, options: { detach } }) {
    const remotes = operands.map(parseRemote)
    const server = await context.connect()
    const paths = await Promise.all(remotes.map(operand => server.locate(operand)))
    for (const sources of sourcesOfJobs(paths.map(({ providerId, path }) => ({ providerId, path })))) {
      await runJob({ ...context, server }, { kind: 'VERIFY', sources }, detach)
    }
  },
})
