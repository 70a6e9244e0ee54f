/** The command `restore`, which brings files and folders back as they were at a time. */
import { type schema, sourcesOfJobs } from '../../../client/src/index.ts'
import { type Context, command } from '../command.ts'
import { CommandError, exitCodes, usageError } from '../errors.ts'
import { jobFields, runJob } from '../jobs/run-job.ts'
import { parseRemote } from '../operand.ts'
import { detachOption, parsePast, yesOption } from '../options.ts'
import type { Server } from '../server.ts'
import { formatBytes } from '../terminal/bar.ts'
import { confirm } from '../terminal/prompt.ts'

/** The fields of a step that the command prints. */
const restoreFields = ['action', 'path', 'isFolder', 'size', 'goneAt'] as const
type RestoreLine = Pick<schema.RestoreStep, (typeof restoreFields)[number]>

export const restore = command({
  name: 'restore',
  operands: '<path>...',
  help: 'Bring files and folders in a storage back as they were at a time, in a job, from earlier versions and from the trash.',
  options: {
    at: {
      value: 'time',
      help: 'The time: hours, days or weeks ago, such as 2h, 3d or 1w, or a date such as 2027-01-31T09:00:00Z.',
    },
    'dry-run': { short: 'n', help: 'Print what would be done, and change nothing.' },
    delete: { help: 'Also delete files that were created since. They go to the trash, or become versions.' },
    ...yesOption,
    ...detachOption,
  },
  json: { step: restoreFields, job: jobFields },
  async run(context, { operands, options }) {
    const remotes = operands.map(parseRemote)
    const restoreAt = parsePast(options.at, new Date()).toISOString()
    const { delete: deleteExtra, yes, detach, 'dry-run': dryRun } = options
    if (dryRun && detach) throw usageError('--dry-run waits for what it prints, so it does not go with --detach.')
    const question = `Delete what was created since ${restoreAt}?`
    if (deleteExtra && !dryRun && !yes && !(await confirm(context.output, question))) {
      throw new CommandError('Nothing was done.', 'NOT_CONFIRMED', exitCodes.usage.code)
    }
    const server = await context.connect()
    const paths = await Promise.all(remotes.map(operand => server.locate(operand)))
    for (const sources of sourcesOfJobs(paths.map(({ providerId, path }) => ({ providerId, path })))) {
      const input = { kind: 'RESTORE' as const, sources, restoreAt, deleteExtra, dryRun }
      const id = await runJob({ ...context, server }, input, detach)
      if (dryRun) await printSteps(context, server, id)
    }
  },
})

async function printSteps({ output }: Context, server: Server, id: string): Promise<void> {
  const document = `query Steps($id: ID!, $after: String) { job(id: $id) { restoreSteps(first: 500, after: $after) {
    nodes { ${restoreFields.join(' ')} } pageInfo { hasNextPage endCursor } } } }`
  let after: string | null = null
  do {
    type Page = { nodes: RestoreLine[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } }
    const answer: { job: { restoreSteps: Page } } = await server.graphql(document, { id, after })
    const { nodes, pageInfo } = answer.job.restoreSteps
    for (const step of nodes) await output.result({ ...step }, stepText(step))
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null
  } while (after !== null)
}

function stepText({ action, path, isFolder, size }: RestoreLine): string {
  return `${action.padEnd(7)}  ${path}${isFolder ? '/' : ''}${size === null ? '' : `  (${formatBytes(size)})`}`
}
