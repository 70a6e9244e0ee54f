import { graphql, type ResultOf } from '../api/graphql.ts'

export const ProviderTypesQuery = graphql(`
  query ProviderTypes {
    providerTypes { type title builtIn needsAuthorization configSchema }
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

export type ProviderType = ResultOf<typeof ProviderTypesQuery>['providerTypes'][number]

export interface Connected {
  id: string
  name: string
  authorizationUrl: string | null
}
