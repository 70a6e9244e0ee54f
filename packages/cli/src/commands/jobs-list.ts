import type { schema } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { usageError } from '../errors.ts'
import { jobFields, jobRecord, jobSelection, jobText, type ListedJob } from '../jobs/job.ts'

const document = `query Jobs($first: Int!, $after: String, $state: JobState) {
  jobs(first: $first, after: $after, state: $state) {
    nodes { ${jobSelection} }
    pageInfo { hasNextPage endCursor }
  }
}`

const maxPage = 100

interface JobsPage {
  jobs: { nodes: ListedJob[]; pageInfo: Pick<schema.PageInfo, 'hasNextPage' | 'endCursor'> }
}

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
    let left = parseLimit(options.limit)
    const state = options.state?.toUpperCase() ?? null
    const server = await connect()
    for (let after: string | null = null, hasNext = true; hasNext && left > 0; ) {
      const { jobs }: JobsPage = await server.graphql(document, { first: Math.min(left, maxPage), after, state })
      for (const job of jobs.nodes) await output.result(jobRecord(job), `${job.createdAt}  ${jobText(job)}`)
      left -= jobs.nodes.length
      after = jobs.pageInfo.endCursor
      hasNext = jobs.pageInfo.hasNextPage
    }
  },
})

/** @throws CommandError */
function parseLimit(text = '20'): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw usageError(`--limit must be a whole number from 1 to 999999, not "${text}".`)
}
