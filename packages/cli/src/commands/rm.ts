import { forEachAtOnce, sourcesOfJobs } from '../../../client/src/index.ts'
import { attempt, type Context, command } from '../command.ts'
import { CommandError, exitCodes, usageError } from '../errors.ts'
import { jobFields, runJob } from '../jobs/run-job.ts'
import { parseRemote } from '../operand.ts'
import { defaultConcurrency, detachOption, recursiveOption, yesOption } from '../options.ts'
import { display, type RemotePath, type Server } from '../server.ts'
import { confirm } from '../terminal/prompt.ts'
import { stepFields } from '../transfer/transfer.ts'

export const rm = command({
  name: 'rm',
  operands: '<path>...',
  help: 'Move files, and with -r folders with everything in them, to the trash, or delete them for good if the storage has none. Asks before, and without a terminal needs --yes.',
  options: {
    ...recursiveOption,
    permanent: { short: 'p', help: 'Delete for good, although the storage has a trash.' },
    ...yesOption,
    ...detachOption,
  },
  json: { file: stepFields, job: jobFields },
  async run(context, { operands, options: { recursive, permanent, yes, detach } }) {
    if (detach && !recursive) throw usageError('--detach needs -r, because only that deletes in a job.')
    const remotes = operands.map(parseRemote)
    const server = await context.connect()
    const paths = await Promise.all(remotes.map(operand => server.locate(operand)))
    const [first] = paths
    if (!first) return
    const what = paths.length === 1 ? display(first) : `${display(first)} and ${paths.length - 1} more`
    const isConfirmed = yes || (await confirm(context.output, `Delete ${what}${permanent ? ' permanently' : ''}?`))
    if (!isConfirmed) throw new CommandError('Nothing was deleted.', 'NOT_CONFIRMED', exitCodes.usage.code)
    if (recursive) await deleteTrees(context, server, paths, { isDetached: detach, permanent })
    else await deleteFiles(context, server, paths, permanent)
  },
})

/** Deletes trees in jobs. */
async function deleteTrees(
  context: Context,
  server: Server,
  paths: readonly RemotePath[],
  { isDetached, permanent }: { isDetached: boolean; permanent: boolean },
): Promise<void> {
  for (const sources of sourcesOfJobs(paths.map(({ providerId, path }) => ({ providerId, path })))) {
    await runJob({ ...context, server }, { kind: 'DELETE', sources, permanent }, isDetached)
  }
}

async function deleteFiles(
  context: Context,
  server: Server,
  paths: readonly RemotePath[],
  permanent: boolean,
): Promise<void> {
  async function* all() {
    yield* paths
  }
  await forEachAtOnce(all(), defaultConcurrency, async path => {
    const target = display(path)
    await attempt(context, target, async () => {
      await server.delete(path, { permanent })
      await context.output.step({ result: 'deleted', source: null, target, size: null }, `${target} deleted`)
    })
  })
}
