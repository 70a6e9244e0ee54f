import { command } from '../command.ts'
import { findViewer, viewerFields, viewerLines, viewerRecord } from '../viewer.ts'

export const whoami = command({
  name: 'whoami',
  operands: '',
  help: 'Print the server, the person and the rights of the API key.',
  options: {},
  json: { viewer: viewerFields },
  async run({ output, connect }) {
    const server = await connect()
    const viewer = await findViewer(server)
    await output.result(viewerRecord(server.url, viewer), ...viewerLines(server.url, viewer))
  },
})
