import { command } from '../command.ts'
import type { Context } from '../context.ts'
import { CommandError, usageError } from '../errors.ts'
import { exitCodes } from '../exit-code.ts'
import { jobFields } from '../jobs/job.ts'
import { runJob } from '../jobs/run-job.ts'
import { parseRemote } from '../operand.ts'
import { display, type RemotePath, type Server } from '../remote/server.ts'
import { confirm } from '../terminal/prompt.ts'
import { forEachAtOnce } from '../transfer/at-once.ts'
import { defaultConcurrency, detachOption, recursiveOption, yesOption } from '../transfer/options.ts'
import { stepFields } from '../transfer/transfer.ts'

/** The number of sources that a job can have. */
const maxSources = 100

export const rm = command({
  name: 'rm',
  operands: '<path>...',
  help: 'Delete files, and with -r folders with everything in them, permanently. Asks before, and without a terminal needs --yes.',
  options: { ...recursiveOption, ...yesOption, ...detachOption },
  json: { file: stepFields, job: jobFields },
  async run(context, { operands, options: { recursive, yes, detach } }) {
    if (detach && !recursive) throw usageError('--detach needs -r, because only that deletes in a job.')
    const remotes = operands.map(parseRemote)
    const server = await context.connect()
    const paths = await Promise.all(remotes.map(operand => server.locate(operand)))
    const [first] = paths
    if (!first) return
    const what = paths.length === 1 ? display(first) : `${display(first)} and ${paths.length - 1} more`
    const isConfirmed = yes || (await confirm(`Delete ${what} permanently?`, context.signal))
    if (!isConfirmed) throw new CommandError('Nothing was deleted.', 'NOT_CONFIRMED', exitCodes.usage.code)
    if (recursive) await deleteTrees(context, server, paths, detach)
    else await deleteFiles(context, server, paths)
  },
})

/** Deletes trees in jobs. */
async function deleteTrees(
  context: Context,
  server: Server,
  paths: readonly RemotePath[],
  isDetached: boolean,
): Promise<void> {
  for (let start = 0; start < paths.length; start += maxSources) {
    const sources = paths.slice(start, start + maxSources).map(({ providerId, path }) => ({ providerId, path }))
    await runJob({ ...context, server }, { kind: 'DELETE', sources }, isDetached)
  }
}

async function deleteFiles({ output, signal }: Context, server: Server, paths: readonly RemotePath[]): Promise<void> {
  async function* all() {
    yield* paths
  }
  await forEachAtOnce(all(), defaultConcurrency, async path => {
    const target = display(path)
    try {
      await server.delete(path, false)
      await output.step({ result: 'deleted', source: null, target, size: null }, `${target} deleted`)
    } catch (error) {
      signal.throwIfAborted()
      output.failure(error, target)
    }
  })
}
