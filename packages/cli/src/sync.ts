/** Carries out `sync`. */
import type { Context } from './context.ts'
import { CommandError, notFound, usageError } from './errors.ts'
import { exitCodes } from './exit-code.ts'
import { runJob } from './jobs/run-job.ts'
import { LocalTree } from './local/local-tree.ts'
import { parseOperand, type RemoteOperand } from './operand.ts'
import { RemoteTree } from './remote/remote-tree.ts'
import { display, nameOf, parentOf } from './remote/server.ts'
import { count } from './terminal/bar.ts'
import { confirm } from './terminal/prompt.ts'
import type { Compared } from './transfer/compare.ts'
import { parseConcurrency } from './transfer/options.ts'
import { findLocal, itemOfEntry } from './transfer/place.ts'
import { Progress } from './transfer/progress.ts'
import { downloadRoute, type Route, uploadRoute } from './transfer/route.ts'
import { Transfer } from './transfer/transfer.ts'
import { UploadRecords } from './transfer/upload-records.ts'

interface SyncOptions {
  isDryRun: boolean
  delete: boolean
  yes: boolean
  followsLinks: boolean
  concurrency: string | undefined
  detach: boolean
}

/** @throws CommandError */
export async function synchronize(
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
    const place = await server.locate(target)
    const isAtTarget = place.path === '/' || requireFolderOrNothing(display(place), await server.find(place))
    const local = new LocalTree(source.path, { followsLinks: options.followsLinks })
    const remote = new RemoteTree(server, place, context.signal)
    const records = new UploadRecords(context.environment)
    await syncTrees(context, uploadRoute(server, local, remote, records), isAtTarget, options)
  } else if (source.kind === 'remote' && target.kind === 'local') {
    if (options.followsLinks) throw usageError('--follow-links is only for a sync from this machine.')
    const place = await server.locate(source)
    requireFolder(display(place), itemOfEntry(await server.stat(place)))
    const isAtTarget = requireFolderOrNothing(target.path, await findLocal(target.path))
    const remote = new RemoteTree(server, place, context.signal)
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
  const atOnce = parseConcurrency(concurrency)
  const extras: Compared[] = []
  const onExtra = (extra: Compared) => void extras.push(extra)
  try {
    await transfer.run(transfer.treeTasks(route, { isAtTarget, ...(deletes && { onExtra }) }), atOnce)
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
      await transfer.run(removals(), atOnce)
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
