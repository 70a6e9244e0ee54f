import { command } from '../command.ts'
import { nameTaken } from '../errors.ts'
import { parseRemote } from '../operand.ts'
import { display } from '../remote/server.ts'

export const mkdir = command({
  name: 'mkdir',
  operands: '<path>...',
  help: 'Create folders, with their parents.',
  options: { parents: { short: 'p', help: 'Accept a folder that exists.' } },
  json: { folder: ['path', 'created'] },
  async run({ output, connect, signal }, { operands, options }) {
    const paths = operands.map(parseRemote)
    const server = await connect()
    for (const operand of paths) {
      const path = await server.locate(operand)
      try {
        const created = await server.createFolder(path)
        const isAccepted = created || (options.parents && (await server.stat(path)).kind === 'folder')
        if (!isAccepted) throw nameTaken(display(path))
        await output.summary({ path: display(path), created }, `${display(path)} ${created ? 'created' : 'exists'}`)
      } catch (error) {
        signal.throwIfAborted()
        output.failure(error, display(path))
      }
    }
  },
})
