import { graphql, type ResultOf } from '../../api/graphql.ts'

export const IssuersQuery = graphql(`
  query Issuers {
    issuers {
      id name issuer clientId groupsClaim domains redirectUri enabled isFromSettings
      groups { id name }
    }
  }
`)

export type ConfiguredIssuer = ResultOf<typeof IssuersQuery>['issuers'][number]

export const GroupNamesQuery = graphql(`
  query GroupNames {
    groups(first: 100) { nodes { id name role } }
  }
`)

export type NamedGroup = ResultOf<typeof GroupNamesQuery>['groups']['nodes'][number]

export const CreateIssuerMutation = graphql(`
  mutation CreateIssuer($input: CreateIssuerInput!) { createIssuer(input: $input) { id } }
`)

export const TestIssuerMutation = graphql(`
  mutation TestIssuer($input: TestIssuerInput!) { testIssuer(input: $input) }
`)

export const PasswordPolicyQuery = graphql(`
  query PasswordPolicy {
    workspace { id passwordOwners }
    users(first: 200, serviceAccounts: false) { nodes { id email name role } }
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
