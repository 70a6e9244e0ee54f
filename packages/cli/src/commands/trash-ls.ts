import { command } from '../command.ts'
import { parseRemote } from '../operand.ts'
import { trashFields, trashRecord, trashText } from '../trash.ts'

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
