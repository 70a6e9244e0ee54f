/** The commands that show or create single entries: `stat`, `cat` and `mkdir`. */
import { attempt, command } from '../command.ts'
import { nameTaken } from '../errors.ts'
import { parseRemote } from '../operand.ts'
import { display, type RemoteEntry } from '../server.ts'
import { printFile } from '../transfer/streams.ts'

const fields = ['kind', 'name', 'path', 'size', 'modifiedAt', 'mimeType', 'etag', 'checksums', 'lock', 'hold'] as const

export const stat = command({
  name: 'stat',
  operands: '<path>...',
  help: 'Print the size, time, type and checksums of files and folders, and what prevents changes of them.',
  options: {},
  json: { entry: fields },
  async run({ output, connect, signal }, { operands }) {
    const paths = operands.map(parseRemote)
    const server = await connect()
    const found = await Promise.all(
      paths.map(async operand => {
        const path = await server.locate(operand)
        return { path, entry: await server.stat(path).catch((error: unknown) => ({ error })) }
      }),
    )
    signal.throwIfAborted()
    for (const { path, entry } of found) {
      if ('error' in entry) output.failure(entry.error, display(path))
      else await output.result(record(entry), ...lines(display(path), entry))
    }
  },
})

function record({ kind, name, path, size, modifiedAt, mimeType, etag, checksums, lock, hold }: RemoteEntry) {
  const entry = { kind, name, path, size, modifiedAt, mimeType, etag, checksums, lock, hold }
  return entry satisfies Record<(typeof fields)[number], unknown>
}

function lines(path: string, { kind, size, modifiedAt, mimeType, etag, checksums, lock, hold }: RemoteEntry): string[] {
  const facts: [string, string | number | null][] = [
    ['path', path],
    ['kind', kind],
    ['size', size],
    ['modified', modifiedAt],
    ['type', mimeType],
    ['etag', etag],
    ...checksums.map(({ algorithm, hex }): [string, string] => [algorithm, hex]),
    ['lock', lock && `until ${lock.expiresAt}, by ${lock.holderName ?? 'another member'}`],
    ['hold', hold && `${hold.until === null ? 'until it is released' : `until ${hold.until}`}: ${hold.reason}`],
  ]
  return facts.flatMap(([name, value]) => (value === null ? [] : [`${`${name}:`.padEnd(10)}${value}`]))
}

export const cat = command({
  name: 'cat',
  operands: '<path>...',
  help: 'Write files to the standard output, one after the other.',
  options: {},
  async run(context, { operands }) {
    const paths = operands.map(parseRemote)
    const server = await context.connect()
    for (const operand of paths) {
      const path = await server.locate(operand)
      const isPrinted = await attempt(context, display(path), () => printFile(server, path, context))
      // Otherwise the output would lack this file in the middle.
      if (!isPrinted) return
    }
  },
})

export const mkdir = command({
  name: 'mkdir',
  operands: '<path>...',
  help: 'Create folders, with their parents.',
  options: { parents: { short: 'p', help: 'Accept a folder that exists.' } },
  json: { folder: ['path', 'created'] },
  async run(context, { operands, options }) {
    const paths = operands.map(parseRemote)
    const server = await context.connect()
    for (const operand of paths) {
      const path = await server.locate(operand)
      const shown = display(path)
      await attempt(context, shown, async () => {
        const created = await server.createFolder(path)
        const isAccepted = created || (options.parents && (await server.stat(path)).kind === 'folder')
        if (!isAccepted) throw nameTaken(shown)
        await context.output.summary({ path: shown, created }, `${shown} ${created ? 'created' : 'exists'}`)
      })
    }
  },
})
