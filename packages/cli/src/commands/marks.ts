/** The commands for stars and tags. */
import type { MarkedEntry } from '../../../client/src/index.ts'
import { attempt, type Context, command } from '../command.ts'
import { parseRemote } from '../operand.ts'
import { display, type RemotePath, type Server } from '../server.ts'

/** The fields of a file or folder with a star or a tag that the command line prints. */
const markedFields = ['kind', 'storage', 'path', 'size', 'modifiedAt'] as const

export const starLs = command({
  name: 'star ls',
  operands: '',
  help: 'List the files and folders that you have given a star, in all storages, the newest star first.',
  options: {},
  json: { marked: markedFields },
  async run({ output, connect, signal }) {
    const server = await connect()
    for await (const entry of server.stowage.stars.list({ signal })) {
      await output.result(markedRecord(entry), markedText(entry))
    }
  },
})

export const starAdd = command({
  name: 'star add',
  operands: '<path>...',
  help: 'Give files and folders a star, which only you see.',
  options: {},
  run: (context, { operands }) =>
    forEachPath(context, operands, (server, path) => server.stowage.stars.add(path, { signal: context.signal })),
})

export const starRm = command({
  name: 'star rm',
  operands: '<path>...',
  help: 'Take the stars of files and folders away.',
  options: {},
  run: (context, { operands }) =>
    forEachPath(context, operands, (server, path) => server.stowage.stars.remove(path, { signal: context.signal })),
})

/** The fields of a tag that the command line prints. */
const tagFields = ['name', 'count'] as const

export const tagLs = command({
  name: 'tag ls',
  operands: '[tag]',
  help: 'List the tags of all files and folders that you can access, or what has one tag.',
  options: {},
  json: { tag: tagFields, marked: markedFields },
  async run({ output, connect, signal }, { operands: [tag] }) {
    const server = await connect()
    if (tag === undefined) {
      for await (const { name, count } of server.stowage.tags.list({ signal })) {
        const record = { name, count } satisfies Record<(typeof tagFields)[number], unknown>
        await output.result(record, `${String(count).padStart(7)}  ${name}`)
      }
      return
    }
    for await (const entry of server.stowage.tags.entries(tag, { signal })) {
      await output.result(markedRecord(entry), markedText(entry))
    }
  },
})

export const tagAdd = command({
  name: 'tag add',
  operands: '<tag> <path>...',
  help: 'Give files and folders a tag, which everybody sees who may read them.',
  options: {},
  run: (context, { operands: [tag = '', ...paths] }) => changeTags(context, paths, { add: [tag] }),
})

export const tagRm = command({
  name: 'tag rm',
  operands: '<tag> <path>...',
  help: 'Take a tag away from files and folders.',
  options: {},
  run: (context, { operands: [tag = '', ...paths] }) => changeTags(context, paths, { remove: [tag] }),
})

function changeTags(context: Context, paths: readonly string[], changes: { add?: string[]; remove?: string[] }) {
  return forEachPath(context, paths, async (server, path) => {
    await server.stowage.tags.update(path, changes, { signal: context.signal })
  })
}

/** Runs `work` on each path. A failure does not stop the others. */
async function forEachPath(
  context: Context,
  operands: readonly string[],
  work: (server: Server, path: RemotePath) => Promise<void>,
): Promise<void> {
  const remotes = operands.map(parseRemote)
  const server = await context.connect()
  for (const remote of remotes) {
    const path = await server.locate(remote)
    await attempt(context, display(path), () => work(server, path))
  }
}

function markedRecord({ kind, providerName, path, size, modifiedAt }: MarkedEntry) {
  return {
    kind,
    storage: providerName,
    path,
    size,
    modifiedAt: modifiedAt?.toISOString() ?? null,
  } satisfies Record<(typeof markedFields)[number], unknown>
}

function markedText({ kind, providerName, path }: MarkedEntry): string {
  return `${providerName}:${path}${kind === 'folder' ? '/' : ''}`
}
