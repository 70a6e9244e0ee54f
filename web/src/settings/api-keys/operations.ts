import { graphql, type ResultOf } from '../../api/graphql.ts'

export const ApiKeysQuery = graphql(`
  query ApiKeys($ofUser: ID, $after: String) {
    apiKeys(ofUser: $ofUser, first: 100, after: $after) {
      nodes {
        id name displayPrefix scopes state createdAt lastUsedAt expiresAt revokedAt
        providerAccess { all restrictions { basePath provider { id name } } }
        owner { id name email }
      }
      pageInfo { endCursor hasNextPage }
    }
  }
`)

export type ApiKey = ResultOf<typeof ApiKeysQuery>['apiKeys']['nodes'][number]

export const CreateKeyMutation = graphql(`
  mutation CreateApiKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { key apiKey { id name } s3 { accessKeyId secretAccessKey endpoint region } }
  }
`)

export type NewApiKey = ResultOf<typeof CreateKeyMutation>['createApiKey']

export const RevokeKeyMutation = graphql(`
  mutation RevokeApiKey($id: ID!) {
    revokeApiKey(id: $id) { id }
  }
`)

export const RenameKeyMutation = graphql(`
  mutation RenameApiKey($id: ID!, $name: String!) {
    renameApiKey(id: $id, name: $name) { id }
  }
`)
