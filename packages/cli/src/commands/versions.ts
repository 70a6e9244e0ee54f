/** The commands for the earlier versions of a file. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { EarlierVersion } from '../../../client/src/index.ts'
import { attempt, command } from '../command.ts'
import { CommandError, exitCodes, notFound, usageError } from '../errors.ts'
import { parseOperand, parseRemote } from '../operand.ts'
import { yesOption } from '../options.ts'
import { display, nameOf, type RemotePath, type Server } from '../server.ts'
import { confirm } from '../terminal/prompt.ts'
import { stepFields } from '../transfer/transfer.ts'
import { requireSafeName, saveFile } from '../trees/save-file.ts'

/** The fields of a version that the command line prints. */
const versionFields = ['number', 'id', 'size', 'modifiedAt', 'replacedAt', 'replacedBy', 'expiresAt'] as const

/** A version with its number, which is 1 for the newest. */
interface NumberedVersion extends EarlierVersion {
  number: number
}

const conflicts = ['fail', 'replace', 'rename'] as const

export const versionsLs = command({
  name: 'versions ls',
  operands: '<path>',
  help: 'List the earlier versions of a file, or of a deleted one, newest first: their numbers, times, sizes, and who replaced them.',
  options: {},
  json: { version: versionFields },
  async run({ output, connect, signal }, { operands: [text = ''] }) {
    const operand = parseRemote(text)
    const server = await connect()
    for await (const version of numbered(server, await server.locate(operand), signal))
      await output.result(versionRecord(version), versionText(version))
  },
})

async function* numbered(
  server: Server,
  { providerId, path }: RemotePath,
  signal: AbortSignal,
): AsyncGenerator<NumberedVersion, void, undefined> {
  let number = 0
  for await (const version of server.stowage.versions.list({ providerId, path, signal })) {
    number += 1
    yield { number, ...version }
  }
}

function versionRecord({ number, id, size, modifiedAt, replacedAt, replacedBy, expiresAt }: NumberedVersion) {
  return {
    number,
    id,
    size,
    modifiedAt: modifiedAt?.toISOString() ?? null,
    replacedAt: replacedAt?.toISOString() ?? null,
    replacedBy,
    expiresAt: expiresAt?.toISOString() ?? null,
  } satisfies Record<(typeof versionFields)[number], unknown>
}

/** The number, the time of the content in UTC, its size, and who replaced it. */
function versionText({ number, size, modifiedAt, replacedBy }: NumberedVersion): string {
  const columns = [String(number).padStart(4), timeOf(modifiedAt).padEnd(20), String(size ?? '-').padStart(14)]
  return [...columns, ...(replacedBy === null ? [] : [replacedBy])].join('  ')
}

/** Whole seconds in UTC. */
function timeOf(time: Date | null): string {
  return time === null ? '-' : `${time.toISOString().slice(0, 19)}Z`
}

/** @param text a number, or an ID @throws CommandError */
async function findVersion(
  server: Server,
  path: RemotePath,
  text: string,
  signal: AbortSignal,
): Promise<NumberedVersion> {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : null
  for await (const version of numbered(server, path, signal))
    if (version.number === number || version.id === text) return version
  throw notFound(`${display(path)} has no version ${text}: see "stowage versions ls".`)
}

export const versionsGet = command({
  name: 'versions get',
  operands: '<path> <version> [target]',
  help: 'Download a version, given by its number or ID, to a local file or folder, or to the standard output as "-". The default is the name of the file in the current folder.',
  options: {
    conflict: {
      value: 'behavior',
      choices: conflicts,
      help: 'What to do if the local name is taken: fail (the default), replace the file, or use another name.',
    },
  },
  json: { file: stepFields },
  async run({ output, connect, signal }, { operands: [text = '', wanted = '', target], options }) {
    const operand = parseRemote(text)
    const to = parseOperand(target ?? '.')
    if (to.kind === 'remote') throw usageError('The target is a local path: "versions restore" restores a version.')
    if (to.kind === 'stream' && output.isJson) throw usageError('"-" is the content of the file: leave --json out.')
    const server = await connect()
    const path = await server.locate(operand)
    const { id, size, modifiedAt } = await findVersion(server, path, wanted, signal)
    const download = () =>
      server.stowage.files.download({ providerId: path.providerId, path: path.path, version: id, signal })
    if (to.kind === 'stream') {
      for await (const chunk of (await download()).body) await output.content(chunk)
      return
    }
    const isFolder = to.isFolder || (await stat(to.path).catch(() => null))?.isDirectory() === true
    const local = isFolder ? join(to.path, requireSafeName(nameOf(path.path))) : to.path
    const { body } = await download()
    const stored = await saveFile(local, { body, modifiedAt }, options.conflict ?? 'fail')
    const source = `${display(path)} (version ${wanted})`
    await output.step({ result: 'copied', source, target: stored, size }, `${source} -> ${stored} copied`)
  },
})

export const versionsRestore = command({
  name: 'versions restore',
  operands: '<path> <version>',
  help: 'Make a version, given by its number or ID, the content of its file again. The present content becomes a version itself, if the storage keeps versions.',
  options: {
    conflict: {
      value: 'behavior',
      choices: conflicts,
      help: 'What to do if the file exists: replace its content (the default), fail, or use another name.',
    },
  },
  json: { file: stepFields },
  async run({ output, connect, signal }, { operands: [text = '', wanted = ''], options }) {
    const operand = parseRemote(text)
    const server = await connect()
    const path = await server.locate(operand)
    const { id, size } = await findVersion(server, path, wanted, signal)
    const restored = await server.stowage.versions.restore(id, { conflict: options.conflict ?? 'replace', signal })
    const target = display({ ...path, path: restored })
    await output.step({ result: 'restored', source: null, target, size }, `${target} restored`)
  },
})

export const versionsRm = command({
  name: 'versions rm',
  operands: '<path> <version>...',
  help: 'Delete versions, given by their numbers or IDs, for good. Asks before, and without a terminal needs --yes.',
  options: yesOption,
  json: { file: stepFields },
  async run(context, { operands: [text = '', ...wanted], options: { yes } }) {
    const { output, connect, signal } = context
    const operand = parseRemote(text)
    const server = await connect()
    const path = await server.locate(operand)
    // The numbers change with each deletion, so all versions are found before.
    const versions: NumberedVersion[] = []
    for (const each of wanted) versions.push(await findVersion(server, path, each, signal))
    const times = versions.map(({ modifiedAt }) => timeOf(modifiedAt)).join(', ')
    const isConfirmed =
      yes || (await confirm(output, `Delete the content of ${display(path)} from ${times} permanently?`))
    if (!isConfirmed) throw new CommandError('Nothing was deleted.', 'NOT_CONFIRMED', exitCodes.usage.code)
    for (const { id, number, size } of versions) {
      const target = `${display(path)} (version ${number})`
      await attempt(context, target, async () => {
        await server.stowage.versions.delete(id, { signal })
        await output.step({ result: 'deleted', source: null, target, size }, `${target} deleted`)
      })
    }
  },
})
