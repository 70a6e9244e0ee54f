/** Carries out `cp`: decides which way the files go. */
import type { Context } from './context.ts'
import { usageError } from './errors.ts'
import { copyBetweenStorages } from './jobs/copy-between.ts'
import { type LocalOperand, type Operand, parseOperand, type RemoteOperand } from './operand.ts'
import { display } from './remote/server.ts'
import type { ConflictPolicy } from './transfer/conflict.ts'
import { downloadTasks } from './transfer/download-tasks.ts'
import { parseConcurrency } from './transfer/options.ts'
import { findLocalPlace, findRemotePlace } from './transfer/place.ts'
import { Progress } from './transfer/progress.ts'
import { printFile, uploadInput } from './transfer/streams.ts'
import { Transfer } from './transfer/transfer.ts'
import { UploadRecords } from './transfer/upload-records.ts'
import { uploadTasks } from './transfer/upload-tasks.ts'

interface CopyOptions {
  recursive: boolean
  conflict: ConflictPolicy | undefined
  followLinks: boolean
  concurrency: string | undefined
  detach: boolean
}

/** @throws CommandError */
export async function copy(context: Context, operands: readonly string[], options: CopyOptions): Promise<void> {
  const parsed = operands.map(parseOperand)
  const [sources, target] = [parsed.slice(0, -1), parsed.at(-1)]
  const concurrency = parseConcurrency(options.concurrency)
  if (!target) throw usageError('The target is missing.')
  if (target.kind === 'stream') return copyToOutput(context, sources)
  const locals = sources.filter(source => source.kind === 'local')
  const remotes = sources.filter(source => source.kind === 'remote')
  if (locals.length + remotes.length < sources.length) return copyFromInput(context, sources, target, options)
  if (target.kind === 'local') {
    if (locals.length > 0) throw usageError('Both paths are local: use the cp of your system.')
    return downloadAll(context, { sources: remotes, target, concurrency }, options)
  }
  if (locals.length > 0 && remotes.length > 0) {
    throw usageError('Some sources are local and some are in storages: copy them with two commands.')
  }
  if (locals.length > 0) return uploadAll(context, { sources: locals, target, concurrency }, options)
  if (options.followLinks || options.concurrency !== undefined) {
    throw usageError('--follow-links and --concurrency have no effect on copies between storages.')
  }
  const server = await context.connect()
  await copyBetweenStorages({ ...context, server }, { kind: 'COPY', sources: remotes, target }, options)
}

async function copyToOutput({ output, signal, connect }: Context, sources: readonly Operand[]): Promise<void> {
  const [source, ...rest] = sources
  if (source?.kind !== 'remote' || rest.length > 0) throw usageError('"-" as the target needs one file of a storage.')
  if (output.isJson) throw usageError('--json and the target "-" both use the standard output.')
  const server = await connect()
  await printFile(server, await server.locate(source), { output, signal })
}

async function copyFromInput(
  { output, signal, connect }: Context,
  sources: readonly Operand[],
  target: LocalOperand | RemoteOperand,
  { conflict = 'fail' }: CopyOptions,
): Promise<void> {
  if (target.kind !== 'remote' || sources.length > 1 || target.isFolder) {
    throw usageError('"-" as the source needs one path of a storage as its target, including the name of the file.')
  }
  if (conflict === 'skip' || conflict === 'newer') throw usageError(`--conflict ${conflict} is not possible for "-".`)
  const server = await connect()
  const path = await server.locate(target)
  const progress = new Progress(output)
  const stored = await uploadInput(server, path, { conflict, signal, onBytes: progress.meter() })
  progress.addFile()
  const shown = display({ ...path, path: stored.path })
  await output.step({ result: 'copied', source: '-', target: shown, size: stored.size }, `- -> ${shown} copied`)
  progress.end()
}

async function downloadAll(
  { output, signal, connect }: Context,
  copied: { sources: readonly RemoteOperand[]; target: LocalOperand; concurrency: number },
  { conflict: policy = 'fail', recursive: isRecursive, detach, followLinks }: CopyOptions,
): Promise<void> {
  if (detach) throw usageError('--detach is only for copies between storages.')
  if (followLinks) throw usageError('--follow-links is only for copies from this machine.')
  const { target } = copied
  const server = await connect()
  const sources = await Promise.all(copied.sources.map(source => server.locate(source)))
  const place = await findLocalPlace(target, sources.length)
  const progress = new Progress(output)
  const transfer = new Transfer({ policy, isDryRun: false, output, progress, signal })
  const tasks = downloadTasks({ server, transfer, sources, target, place, policy, isRecursive })
  await transfer.run(tasks, copied.concurrency).finally(() => progress.end())
}

async function uploadAll(
  { output, signal, environment, connect }: Context,
  copied: { sources: readonly LocalOperand[]; target: RemoteOperand; concurrency: number },
  { conflict: policy = 'fail', recursive: isRecursive, detach, followLinks: followsLinks }: CopyOptions,
): Promise<void> {
  if (detach) throw usageError('--detach is only for copies between storages.')
  const { sources } = copied
  const server = await connect()
  const target = await server.locate(copied.target)
  const place = await findRemotePlace(server, target, sources.length)
  const progress = new Progress(output)
  const transfer = new Transfer({ policy, isDryRun: false, output, progress, signal })
  const records = new UploadRecords(environment)
  const plan = { server, transfer, sources, target, place, policy, isRecursive, followsLinks, records }
  await transfer.run(uploadTasks(plan), copied.concurrency).finally(() => progress.end())
}
