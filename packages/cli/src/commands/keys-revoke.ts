import { command } from '../command.ts'
import { keyFields, keySelection, type ListedKey } from '../keys.ts'

const document = `mutation Revoke($id: ID!) { revokeApiKey(id: $id) { ${keySelection} } }`

export const keysRevoke = command({
  name: 'keys revoke',
  operands: '<id>...',
  help: 'Revoke API keys at once and for good.',
  options: {},
  json: { key: keyFields },
  async run({ output, connect, signal }, { operands }) {
    const server = await connect()
    for (const id of operands) {
      try {
        const { revokeApiKey } = await server.graphql<{ revokeApiKey: ListedKey }>(document, { id })
        await output.summary(revokeApiKey, `${id} (${revokeApiKey.name}) revoked`)
      } catch (error) {
        signal.throwIfAborted()
        output.failure(error, id)
      }
    }
  },
})
