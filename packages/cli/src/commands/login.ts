import { command } from '../command.ts'
import { credentialsFile, isUnencrypted, parseKey, parseServerUrl, storeCredentials } from '../credentials.ts'
import { Server } from '../remote/server.ts'
import { readSecret } from '../terminal/prompt.ts'
import { findViewer, viewerFields, viewerRecord } from '../viewer.ts'

export const login = command({
  name: 'login',
  operands: '<url>',
  help: 'Store an API key for a server. Asks for the key, or reads it from the standard input.',
  options: {},
  json: { viewer: viewerFields },
  async run({ environment, signal, output }, { operands: [address = ''] }) {
    const url = parseServerUrl(address)
    if (isUnencrypted(url)) output.warn('This address is not encrypted: others in the network can read the API key.')
    const text = await readSecret(output, `API key for ${url}: `, signal)
    const credentials = { url, key: parseKey(text) }
    const viewer = await findViewer(new Server(credentials, signal))
    await storeCredentials(environment, credentials)
    const stored = `Signed in to ${url} as ${viewer.user.email}. The key is in ${credentialsFile(environment)}.`
    await output.summary(viewerRecord(url, viewer), stored)
    if (environment.STOWAGE_API_KEY) output.warn('STOWAGE_API_KEY is set and overrides the stored key.')
  },
})
