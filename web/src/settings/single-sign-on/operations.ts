import { graphql, type ResultOf } from '../../api/graphql.ts'

export const IssuersQuery = graphql(`
  query Issuers {
    issuers {
      id name issuer clientId groupsClaim domains prompt maxAgeMinutes redirectUri enabled isFromSettings isReplaced
      groups { id name }
    }
  }
`)

export type ConfiguredIssuer = ResultOf<typeof IssuersQuery>['issuers'][number]

export const GroupNamesQuery = graphql(`
  query GroupNames($after: String) {
    groups(first: 100, after: $after) { nodes { id name } pageInfo { endCursor hasNextPage } }
  }
`)

export const CreateIssuerMutation = graphql(`
  mutation CreateIssuer($input: CreateIssuerInput!) { createIssuer(input: $input) { id } }
`)

export const TestIssuerMutation = graphql(`
  mutation TestIssuer($input: TestIssuerInput!) { testIssuer(input: $input) }
`)

export const PasswordPolicyQuery = graphql(`
  query PasswordPolicy {
    workspace { id passwordOwners }
    owners: users(first: 200, serviceAccounts: false, owners: true) { nodes { id email name } }
    unlinked: users(first: 100, serviceAccounts: false, singleSignOn: false) {
      nodes { id email name deactivatedAt }
      pageInfo { hasNextPage }
    }
  }
`)

export type PasswordPolicy = ResultOf<typeof PasswordPolicyQuery>

export const PasswordPolicyMutation = graphql(`
  mutation SetPasswordPolicy($input: UpdateWorkspaceInput!) { updateWorkspace(input: $input) { id } }
`)

export const UpdateIssuerMutation = graphql(`
  mutation UpdateIssuer($input: UpdateIssuerInput!) { updateIssuer(input: $input) { id } }
`)

export const DeleteIssuerMutation = graphql(`
  mutation DeleteIssuer($id: ID!) { deleteIssuer(id: $id) }
`)
