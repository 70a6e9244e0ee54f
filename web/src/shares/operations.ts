import { graphql, type ResultOf } from '../api/graphql.ts'

export const SharesQuery = graphql(`
  query Shares($ofUser: ID, $includeInactive: Boolean!, $after: String) {
    shares(first: 50, ofUser: $ofUser, includeInactive: $includeInactive, after: $after) {
      nodes {
        id kind state url providerId paths hasPassword note expiresAt maxDownloads downloads maxBytes receivedBytes
        fileTypes notify createdAt lastUsedAt createdBy { id name email } recipients { kind id name email }
      }
      pageInfo { endCursor hasNextPage }
    }
    providers { id name }
  }
`)

export type Share = ResultOf<typeof SharesQuery>['shares']['nodes'][number]
