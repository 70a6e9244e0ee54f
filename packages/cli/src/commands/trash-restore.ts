import type { TrashedEntry } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { CommandError } from '../errors.ts'
import { exitCodes } from '../exit-code.ts'
import { parseRemote } from '../operand.ts'
import { display, type RemotePath, type Server } from '../remote/server.ts'
import { stepFields } from '../transfer/transfer.ts'

const document = 'mutation Restore($input: RestoreInput!) { restore(input: $input) { path } }'

export const trashRestore = command({
  name: 'trash restore',
  operands: '<path>...',
  help: 'Move files and folders from the trash to the paths at which they were deleted. Of several with one path, the one that was deleted last.',
  options: {
    conflict: {
      value: 'behavior',
      choices: ['fail', 'replace', 'rename'],
      help: 'What to do if something else has the path now: fail (the default), replace it, or use another name.',
    },
  },
  json: { file: stepFields },
  async run({ output, connect, signal }, { operands, options: { conflict = 'fail' } }) {
    const remotes = operands.map(parseRemote)
    const server = await connect()
    for (const remote of remotes) {
      const path = await server.locate(remote)
      const source = display(path)
      try {
        const { id, size } = await findTrashed(server, path, signal)
        const input = { id, conflict: conflict.toUpperCase() }
        const { restore } = await server.graphql<{ restore: { path: string } }>(document, { input })
        const target = display({ ...path, path: restore.path })
        await output.step({ result: 'restored', source: null, target, size }, `${target} restored`)
      } catch (error) {
        signal.throwIfAborted()
        output.failure(error, source)
      }
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
