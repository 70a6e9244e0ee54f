import { command } from '../command.ts'
import { parseRemote } from '../operand.ts'
import { display } from '../remote/server.ts'
import { printFile } from '../transfer/streams.ts'

export const cat = command({
  name: 'cat',
  operands: '<path>...',
  help: 'Write files to the standard output, one after the other.',
  options: {},
  async run({ output, connect, signal }, { operands }) {
    const paths = operands.map(parseRemote)
    const server = await connect()
    for (const operand of paths) {
      const path = await server.locate(operand)
      try {
        await printFile(server, path, { output, signal })
      } catch (error) {
        signal.throwIfAborted()
        output.failure(error, display(path))
        // The output would lack this file in the middle.
        return
      }
    }
  },
})
