import type { schema } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { keyFields, keySelection, keyText, type ListedKey } from '../keys.ts'

const document = `query Keys($after: String, $all: Boolean!) {
  apiKeys(first: 100, after: $after, includeInactive: $all) {
    nodes { ${keySelection} }
    pageInfo { hasNextPage endCursor }
  }
}`

interface KeysPage {
  apiKeys: { nodes: ListedKey[]; pageInfo: Pick<schema.PageInfo, 'hasNextPage' | 'endCursor'> }
}

export const keysList = command({
  name: 'keys list',
  operands: '',
  help: 'List your API keys, newest first. Needs an admin key without restrictions, as all commands for keys.',
  options: { all: { short: 'a', help: 'Include expired and revoked keys.' } },
  json: { key: keyFields },
  async run({ output, connect }, { options }) {
    const server = await connect()
    for (let after: string | null = null, hasNext = true; hasNext; ) {
      const { apiKeys }: KeysPage = await server.graphql(document, { after, all: options.all })
      for (const key of apiKeys.nodes) await output.result(key, keyText(key))
      after = apiKeys.pageInfo.endCursor
      hasNext = apiKeys.pageInfo.hasNextPage
    }
  },
})
