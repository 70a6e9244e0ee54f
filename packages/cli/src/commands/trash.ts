/** The commands for the trash of a storage. */
import type { TrashedEntry } from '../../../client/src/index.ts'
import { attempt, command } from '../command.ts'
import { CommandError, exitCodes } from '../errors.ts'
import { parseRemote } from '../operand.ts'
import { yesOption } from '../options.ts'
import { display, type RemotePath, type Server } from '../server.ts'
import { confirm } from '../terminal/prompt.ts'
import { stepFields } from '../transfer/transfer.ts'

/** The fields of an entry in the trash that the command line prints. */
const trashFields = ['kind', 'originalPath', 'size', 'deletedAt', 'expiresAt'] as const

export const trashLs = command({
  name: 'trash ls',
  operands: '<path>',
  help: 'List the files and folders in the trash of a storage that were deleted at or below a path, newest first.',
  options: {},
  json: { trashed: trashFields },
  async run({ output, connect, signal }, { operands: [text = ''] }) {
    const operand = parseRemote(text)
    const server = await connect()
    const { providerId, path } = await server.locate(operand)
    for await (const entry of server.stowage.trash.list({ providerId, signal })) {
      if (isAtOrBelow(entry.originalPath, path)) await output.result(trashRecord(entry), trashText(entry))
    }
  },
})

function isAtOrBelow(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`)
}

function trashRecord({ kind, originalPath, size, deletedAt, expiresAt }: TrashedEntry) {
  return {
    kind,
    originalPath,
    size,
    deletedAt: deletedAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  } satisfies Record<(typeof trashFields)[number], unknown>
}

/** The time of the deletion in UTC, the size and the path. */
function trashText({ kind, originalPath, size, deletedAt }: TrashedEntry): string {
  const time = `${deletedAt.toISOString().slice(0, 19)}Z`
  return `${time}  ${String(size ?? '-').padStart(14)}  ${originalPath}${kind === 'folder' ? '/' : ''}`
}

const restoreMutation = 'mutation Restore($input: RestoreInput!) { restore(input: $input) { path } }'

export const trashRestore = command({
  name: 'trash restore',
  operands: '<path>...',
  help: 'Move files and folders from the trash to the paths at which they were deleted. If several were deleted at one path, the last one is restored.',
  options: {
    conflict: {
      value: 'behavior',
      choices: ['fail', 'replace', 'rename'],
      help: 'What to do if something else has the path now: fail (the default), replace it, or use another name.',
    },
  },
  json: { file: stepFields },
  async run(context, { operands, options: { conflict = 'fail' } }) {
    const remotes = operands.map(parseRemote)
    const server = await context.connect()
    for (const remote of remotes) {
      const path = await server.locate(remote)
      await attempt(context, display(path), async () => {
        const { id, size } = await findTrashed(server, path, context.signal)
        const input = { id, conflict: conflict.toUpperCase() }
        const { restore } = await server.graphql<{ restore: { path: string } }>(restoreMutation, { input })
        const target = display({ ...path, path: restore.path })
        await context.output.step({ result: 'restored', source: null, target, size }, `${target} restored`)
      })
    }
  },
})

/** @throws CommandError */
async function findTrashed(
  server: Server,
  { providerId, path }: RemotePath,
  signal: AbortSignal,
): Promise<TrashedEntry> {
  for await (const entry of server.stowage.trash.list({ providerId, signal })) {
    if (entry.originalPath === path) return entry
  }
  const message = 'Nothing in the trash was deleted at this path: see "stowage trash ls".'
  throw new CommandError(message, 'NOT_FOUND', exitCodes.notFound.code)
}

const emptyMutation = 'mutation Empty($providerId: ID!) { emptyTrash(providerId: $providerId) }'

export const trashEmpty = command({
  name: 'trash empty',
  operands: '<storage>',
  help: 'Delete everything in the trash of a storage for good. Asks before, and without a terminal needs --yes.',
  options: yesOption,
  async run({ output, connect }, { operands: [text = ''], options: { yes } }) {
    const operand = parseRemote(text)
    const server = await connect()
    const { storage, providerId } = await server.locate(operand)
    const question = `Delete everything in the trash of ${storage.name} permanently?`
    const isConfirmed = yes || (await confirm(output, question))
    if (!isConfirmed) throw new CommandError('Nothing was deleted.', 'NOT_CONFIRMED', exitCodes.usage.code)
    await server.graphql(emptyMutation, { providerId })
    output.note(`The trash of ${storage.name} is empty.`)
  },
})
