/** The commands `cp` and `mv`. Copies from and to this machine pass through it, and the server does those between storages. */
import { type Context, command } from '../command.ts'
import { usageError } from '../errors.ts'
import { copyBetweenStorages } from '../jobs/copy-between.ts'
import { jobFields } from '../jobs/run-job.ts'
import { type LocalOperand, type Operand, parseOperand, parseRemote, type RemoteOperand } from '../operand.ts'
import {
  concurrencyOption,
  conflictOption,
  detachOption,
  linksOption,
  parseConcurrency,
  recursiveOption,
} from '../options.ts'
import { display } from '../server.ts'
import type { ConflictPolicy } from '../transfer/conflict.ts'
import { findLocalDestination, findRemoteDestination } from '../transfer/destination.ts'
import { Progress } from '../transfer/progress.ts'
import { printFile, uploadInput } from '../transfer/streams.ts'
import { downloadTasks, uploadTasks } from '../transfer/tasks.ts'
import { stepFields, Transfer } from '../transfer/transfer.ts'
import { UploadRecords } from '../transfer/upload-records.ts'

export const cp = command({
  name: 'cp',
  operands: '<source>... <target>',
  help: 'Copy files and folders between this machine and storages, and between storages. "-" is the standard input or output.',
  options: { ...recursiveOption, ...conflictOption, ...linksOption, ...concurrencyOption, ...detachOption },
  json: { file: stepFields, job: jobFields },
  run: (context, { operands, options }) =>
    copy(context, operands, { ...options, followLinks: options['follow-links'] }),
})

export const mv = command({
  name: 'mv',
  operands: '<source>... <target>',
  help: 'Move and rename files and folders in storages and between them.',
  options: { ...conflictOption, ...detachOption },
  json: { file: stepFields, job: jobFields },
  async run(context, { operands, options }) {
    const paths = operands.map(parseRemote)
    const [sources, target] = [paths.slice(0, -1), paths.at(-1)]
    if (!target) throw usageError('The target is missing.')
    const server = await context.connect()
    await copyBetweenStorages(
      { ...context, server },
      { kind: 'MOVE', sources, target },
      { ...options, recursive: true },
    )
  },
})

interface CopyOptions {
  recursive: boolean
  conflict: ConflictPolicy | undefined
  followLinks: boolean
  concurrency: string | undefined
  detach: boolean
}

/** @throws CommandError */
async function copy(context: Context, operands: readonly string[], options: CopyOptions): Promise<void> {
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
  const destination = await findLocalDestination(target, sources.length)
  const progress = new Progress(output)
  const transfer = new Transfer({ policy, isDryRun: false, output, progress, signal })
  const tasks = downloadTasks({ server, transfer, sources, target, destination, policy, isRecursive })
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
  const destination = await findRemoteDestination(server, target, sources.length)
  const progress = new Progress(output)
  const transfer = new Transfer({ policy, isDryRun: false, output, progress, signal })
  const records = new UploadRecords(environment)
  const plan = { server, transfer, sources, target, destination, policy, isRecursive, followsLinks, records }
  await transfer.run(uploadTasks(plan), copied.concurrency).finally(() => progress.end())
}
