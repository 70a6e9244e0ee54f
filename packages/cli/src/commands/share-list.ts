import type { schema } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { type ListedShare, shareFields, shareLines, shareSelection } from '../shares.ts'

const document = `query Shares($after: String, $all: Boolean!) {
  shares(first: 100, after: $after, includeInactive: $all) {
    nodes { ${shareSelection} }
    pageInfo { hasNextPage endCursor }
  }
}`

interface SharesPage {
  shares: { nodes: ListedShare[]; pageInfo: Pick<schema.PageInfo, 'hasNextPage' | 'endCursor'> }
}

export const shareList = command({
  name: 'share list',
  operands: '',
  help: 'List the share links that the key made, newest first; for an admin key without restrictions, those of everybody.',
  options: { all: { short: 'a', help: 'Include expired and revoked links.' } },
  json: { share: shareFields },
  async run({ output, connect }, { options }) {
    const server = await connect()
    for (let after: string | null = null, hasNext = true; hasNext; ) {
      const { shares }: SharesPage = await server.graphql(document, { after, all: options.all })
      for (const share of shares.nodes) await output.result(share, ...shareLines(share))
      after = shares.pageInfo.endCursor
      hasNext = shares.pageInfo.hasNextPage
    }
  },
})
