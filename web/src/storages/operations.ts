import { graphql, type ResultOf } from '../api/graphql.ts'

export const ProviderTypesQuery = graphql(`
  query ProviderTypes {
    providerTypes { type title builtIn needsAuthorization group configSchema }
    providers { id }
  }
`)

export const ConnectMutation = graphql(`
  mutation ConnectProvider($input: ConnectProviderInput!) {
    connectProvider(input: $input) {
      authorizationUrl
      provider { id name }
    }
  }
`)

export const AuthorizeMutation = graphql(`
  mutation AuthorizeProvider($id: ID!) {
    authorizeProvider(id: $id) { authorizationUrl }
  }
`)

export const ProviderStatusQuery = graphql(`
  query ProviderStatus($id: ID!) {
    provider(id: $id) { status statusReason }
  }
`)

/** One level of the folders of the server from which a storage can be made. */
export const ServerFoldersQuery = graphql(`
  query ServerFolders($type: String!, $path: String) {
    serverFolders(type: $type, path: $path) { path parent folders { name path } isComplete }
  }
`)

/** What is at the top of a new storage. */
export const ConnectedContentQuery = graphql(`
  query ConnectedContent($id: ID!) {
    provider(id: $id) { root { entries(first: 100) { nodes { name } pageInfo { hasNextPage } } } }
  }
`)

export type ProviderType = ResultOf<typeof ProviderTypesQuery>['providerTypes'][number]

export interface ConnectedProvider {
  id: string
  name: string
  authorizationUrl: string | null
}

export const ManagedProvidersQuery = graphql(`
  query ManagedProviders {
    providers {
      id name slug status statusReason config createdAt
      type { type title needsAuthorization configSchema }
      jobLimits { filesAtOnce bytesPerSecond }
      trashDays versionCount versionDays
      catalogue { mode }
      encryption { names }
    }
  }
`)

export type ManagedProvider = ResultOf<typeof ManagedProvidersQuery>['providers'][number]

/** Queried for each provider separately, so that a slow back end does not delay the page. */
export const QuotaQuery = graphql(`
  query ProviderQuota($id: ID!) {
    provider(id: $id) {
      quota { used total }
      quotaRule { bytes files usedBytes usedFiles isExact }
    }
  }
`)

export const KeepingQuery = graphql(`
  query Keeping($id: ID!) {
    provider(id: $id) {
      trashDays trash { days isOneStep }
      versionCount versionDays versions { count days isOneStep isNative }
    }
  }
`)

export const TestMutation = graphql(`
  mutation TestProvider($id: ID!) {
    testProvider(id: $id) { id status }
  }
`)

export const UpdateMutation = graphql(`
  mutation UpdateProvider($input: UpdateProviderInput!) {
    updateProvider(input: $input) { id }
  }
`)

export const DisconnectMutation = graphql(`
  mutation DisconnectProvider($id: ID!) {
    disconnectProvider(id: $id)
  }
`)
