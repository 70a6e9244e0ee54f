import { command } from '../command.ts'
import { forgetCredentials, readCredentials } from '../credentials.ts'

export const logout = command({
  name: 'logout',
  operands: '',
  help: 'Delete the stored API key from this machine. The key stays valid: revoke it with "keys revoke" or in the console.',
  options: {},
  json: { server: ['url'] },
  async run({ environment, output }) {
    // A damaged or unsafe file is deleted, too.
    const stored = await readCredentials(environment).catch(() => null)
    await forgetCredentials(environment)
    const url = stored?.url ?? null
    await output.summary({ url }, url === null ? 'No API key was stored.' : `The API key for ${url} is deleted.`)
  },
})
