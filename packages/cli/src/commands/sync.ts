/** The command `sync`, which copies what differs and then deletes what only the target has. */
import { type Context, command } from '../command.ts'
import { CommandError, exitCodes, notFound, usageError } from '../errors.ts'
import { jobFields, runJob } from '../jobs/run-job.ts'
import { parseOperand, type RemoteOperand } from '../operand.ts'
import { concurrencyOption, detachOption, linksOption, parseConcurrency, yesOption } from '../options.ts'
import { display, nameOf, parentOf } from '../server.ts'
import { count } from '../terminal/bar.ts'
import { confirm } from '../terminal/prompt.ts'
import type { Compared } from '../transfer/compare.ts'
import { findLocal, itemOfEntry } from '../transfer/destination.ts'
import { Progress } from '../transfer/progress.ts'
import { downloadRoute, type Route, uploadRoute } from '../transfer/route.ts'
import { stepFields, Transfer } from '../transfer/transfer.ts'
import { UploadRecords } from '../transfer/upload-records.ts'
import { LocalTree } from '../trees/local-tree.ts'
import { RemoteTree } from '../trees/remote-tree.ts'

export const sync = command({
  name: 'sync',
  operands: '<source> <target>',
  help: 'Make the content of the target folder equal to the source folder, in this direction only. Files that do not differ stay.',
  options: {
    'dry-run': { short: 'n', help: 'Print what would be done, and change nothing.' },
    delete: { help: 'Delete what exists only at the target. Nothing is deleted if something failed.' },
    ...yesOption,
    ...linksOption,
    ...concurrencyOption,
    ...detachOption,
  },
  json: { file: stepFields, job: jobFields },
  run: (context, { operands: [source = '', target = ''], options }) =>
    synchronize(
      context,
      { source, target },
      {
        ...options,
        isDryRun: options['dry-run'],
        followsLinks: options['follow-links'],
      },
    ),
})

interface SyncOptions {
  isDryRun: boolean
  delete: boolean
  yes: boolean
  followsLinks: boolean
  concurrency: string | undefined
  detach: boolean
}

/** @throws CommandError */
async function synchronize(
  context: Context,
  operands: { source: string; target: string },
  options: SyncOptions,
): Promise<void> {
  const [source, target] = [parseOperand(operands.source), parseOperand(operands.target)]
  if (source.kind === 'stream' || target.kind === 'stream') throw usageError('sync works on folders, not on "-".')
  if (source.kind === 'local' && target.kind === 'local') throw usageError('Both paths are local: use rsync.')
  // The question comes after the copies, so a missing terminal must be noticed before them.
  if (options.delete && !options.yes && !options.isDryRun && !process.stdin.isTTY) {
    throw usageError('Without a terminal nobody can confirm the deletion: give --yes.')
  }
  if (source.kind === 'remote' && target.kind === 'remote') return syncStorages(context, source, target, options)
  if (options.detach) throw usageError('--detach is only for a sync between storages.')
  const server = await context.connect()
  if (source.kind === 'local' && target.kind === 'remote') {
    requireFolder(source.path, await findLocal(source.path))
    const folder = await server.locate(target)
    const isAtTarget = folder.path === '/' || requireFolderOrNothing(display(folder), await server.find(folder))
    const local = new LocalTree(source.path, { followsLinks: options.followsLinks })
    const remote = new RemoteTree(server, folder, context.signal)
    const records = new UploadRecords(context.environment)
    await syncTrees(context, uploadRoute(server, local, remote, records), isAtTarget, options)
  } else if (source.kind === 'remote' && target.kind === 'local') {
    if (options.followsLinks) throw usageError('--follow-links is only for a sync from this machine.')
    const folder = await server.locate(source)
    requireFolder(display(folder), itemOfEntry(await server.stat(folder)))
    const isAtTarget = requireFolderOrNothing(target.path, await findLocal(target.path))
    const remote = new RemoteTree(server, folder, context.signal)
    const local = new LocalTree(target.path, { followsLinks: false })
    await syncTrees(context, downloadRoute(server, remote, local, []), isAtTarget, options)
  }
}

/** @throws CommandError */
function requireFolder(path: string, item: { kind: string } | null): void {
  if (item?.kind === 'folder') return
  if (!item) throw notFound(`${path} does not exist.`)
  throw new CommandError(`${path} is not a folder.`, 'NOT_A_FOLDER', exitCodes.failure.code)
}

/** Returns whether there is a folder. @throws CommandError if there is something else */
function requireFolderOrNothing(path: string, item: { kind: string } | null): boolean {
  if (item) requireFolder(path, item)
  return item !== null
}

/** Copies what differs, then deletes what only the target has. */
async function syncTrees(
  { output, signal }: Context,
  route: Route,
  isAtTarget: boolean,
  { isDryRun, delete: deletes, yes, concurrency }: SyncOptions,
): Promise<void> {
  const progress = new Progress(output, { isDryRun })
  const transfer = new Transfer({ policy: 'sync', isDryRun, output, progress, signal })
  const limit = parseConcurrency(concurrency)
  const extras: Compared[] = []
  const onExtra = (extra: Compared) => void extras.push(extra)
  try {
    await transfer.run(transfer.treeTasks(route, { isAtTarget, ...(deletes && { onExtra }) }), limit)
    if (extras.length === 0) return
    if (output.failures > 0) {
      output.warn('Nothing was deleted at the target, because something failed.')
      return
    }
    output.showBar('')
    const question = `Delete what only the target has: ${count(extras.length, 'file or folder', 'files or folders')}?`
    if (isDryRun || yes || (await confirm(output, question))) {
      async function* removals() {
        for (const extra of extras) yield () => transfer.remove(route, extra)
      }
      await transfer.run(removals(), limit)
    } else output.note('Nothing was deleted.')
  } finally {
    progress.end()
  }
}

/** Runs a SYNC job. */
async function syncStorages(
  context: Context,
  source: RemoteOperand,
  target: RemoteOperand,
  { isDryRun, delete: deleteExtra, yes, followsLinks, concurrency, detach }: SyncOptions,
): Promise<void> {
  if (followsLinks || concurrency !== undefined) {
    throw usageError('--follow-links and --concurrency have no effect on a sync between storages.')
  }
  const server = await context.connect()
  const [from, to] = [await server.locate(source), await server.locate(target)]
  const isRoot = from.path === '/'
  if (!isRoot && to.path === '/') {
    const example = `${to.storage.name}:/${nameOf(from.path)}`
    throw usageError(`A sync of a folder cannot replace a whole storage. Give a target such as "${example}".`)
  }
  const question = `Delete what only ${display(to)} has, after everything is copied?`
  if (deleteExtra && !isDryRun && !yes && !(await confirm(context.output, question))) {
    throw new CommandError('Nothing was done.', 'NOT_CONFIRMED', exitCodes.usage.code)
  }
  const folder = isRoot ? to.path : parentOf(to.path)
  const input = {
    kind: 'SYNC' as const,
    sources: [{ providerId: from.providerId, path: from.path }],
    target: { providerId: to.providerId, path: folder },
    ...(!isRoot && { targetName: nameOf(to.path) }),
    dryRun: isDryRun,
    deleteExtra,
  }
  await runJob({ ...context, server }, input, detach)
}
