import { StowageError, type WalkedEntry } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { parseRemote } from '../operand.ts'
import type { Output } from '../output.ts'
import type { RemotePath, Server } from '../server.ts'

const entryFields = ['kind', 'name', 'path', 'size', 'modifiedAt', 'etag'] as const

type ListedEntry = Pick<WalkedEntry, (typeof entryFields)[number]>

export const ls = command({
  name: 'ls',
  operands: '[path]',
  help: 'List a folder of a storage, or the storages if there is no path.',
  options: {
    long: { short: 'l', help: 'Print sizes and times, too; for storages their type, status, encryption and ID.' },
    recursive: { short: 'r', help: 'List everything below the folder, in no particular order.' },
  },
  json: { storage: ['kind', 'id', 'name', 'type', 'status', 'isEncrypted'], entry: entryFields },
  async run({ output, connect, signal }, { operands: [text], options }) {
    const server = await connect()
    if (text === undefined) return listStorages(server, output, options.long)
    const folder = await server.locate(parseRemote(text))
    const { providerId, path } = folder
    const { files } = server.stowage
    const entries = options.recursive
      ? files.walk({ providerId, path, signal })
      : files.list({ providerId, path, signal })
    for await (const entry of orFile(server, folder, entries)) {
      const shown = options.recursive && entry.path !== path ? relative(path, entry.path) : entry.name
      await output.result(entryRecord(entry), entryText(entry, shown, options.long))
    }
  },
})

/** Yields the entries of a folder, or the file itself. */
async function* orFile(server: Server, path: RemotePath, entries: AsyncIterable<ListedEntry>) {
  try {
    yield* entries
  } catch (error) {
    if (!(error instanceof StowageError) || error.reason !== 'NOT_A_FOLDER') throw error
    const { modifiedAt, ...file } = await server.stat(path)
    yield { ...file, modifiedAt: modifiedAt === null ? null : new Date(modifiedAt) }
  }
}

function entryRecord({ kind, name, path, size, modifiedAt, etag }: ListedEntry) {
  return { kind, name, path, size, modifiedAt, etag } satisfies Record<(typeof entryFields)[number], unknown>
}

function entryText({ kind, size, modifiedAt }: ListedEntry, shown: string, isLong: boolean): string {
  const name = kind === 'folder' ? `${shown}/` : shown
  if (!isLong) return name
  // Whole seconds in UTC.
  const time = modifiedAt === null ? '-' : `${modifiedAt.toISOString().slice(0, 19)}Z`
  return `${String(size ?? '-').padStart(14)}  ${time.padEnd(20)}  ${name}`
}

/** Returns the path below the folder. */
function relative(folder: string, path: string): string {
  return path.slice(folder === '/' ? 1 : folder.length + 1)
}

async function listStorages(server: Server, output: Output, isLong: boolean): Promise<void> {
  for (const { id, name, status, type, encryption } of await server.storages()) {
    const isEncrypted = encryption !== null
    const facts = [id, type.type.padEnd(12), status.padEnd(19), (isEncrypted ? 'encrypted' : '-').padEnd(9)]
    const text = isLong ? [...facts, `${name}:`].join('  ') : `${name}:`
    await output.result({ kind: 'storage', id, name, type: type.type, status, isEncrypted }, text)
  }
}
