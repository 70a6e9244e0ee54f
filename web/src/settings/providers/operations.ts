import { graphql, type ResultOf } from '../../api/graphql.ts'

export const ProvidersQuery = graphql(`
  query ManagedProviders {
    providers {
      id name status statusReason config createdAt
      type { type title needsAuthorization configSchema }
    }
  }
`)

export type Provider = ResultOf<typeof ProvidersQuery>['providers'][number]

/** Asked for each by itself: a back end that is slow, or gone, must not hold up the page. */
export const QuotaQuery = graphql(`
  query ProviderQuota($id: ID!) {
    provider(id: $id) { quota { used total } }
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
