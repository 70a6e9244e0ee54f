import { command } from '../command.ts'
import { type ListedShare, shareFields, shareSelection } from '../shares.ts'

const document = `mutation Revoke($id: ID!) { revokeShare(id: $id) { ${shareSelection} } }`

export const shareRevoke = command({
  name: 'share revoke',
  operands: '<id>...',
  help: 'Revoke share links at once and for good.',
  options: {},
  json: { share: shareFields },
  async run({ output, connect, signal }, { operands }) {
    const server = await connect()
    for (const id of operands) {
      try {
        const { revokeShare } = await server.graphql<{ revokeShare: ListedShare }>(document, { id })
        await output.summary(revokeShare, `${id} (${revokeShare.paths.join(', ')}) revoked`)
      } catch (error) {
        signal.throwIfAborted()
        output.failure(error, id)
      }
    }
  },
})
