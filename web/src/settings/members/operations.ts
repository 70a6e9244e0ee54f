import { graphql, type ResultOf } from '../../api/graphql.ts'

export const MembersQuery = graphql(`
  query Members($after: String, $serviceAccounts: Boolean!) {
    users(first: 100, after: $after, serviceAccounts: $serviceAccounts) {
      nodes {
        id email name role isServiceAccount createdAt deactivatedAt directory directoryName
        groups { id name }
        providerAccess { all restrictions { basePath provider { id name } } }
        quotaRule { bytes files usedBytes usedFiles isExact }
      }
      pageInfo { endCursor hasNextPage }
    }
  }
`)

export type Member = ResultOf<typeof MembersQuery>['users']['nodes'][number]

export const ViewMemberMutation = graphql(`
  mutation ViewMember($userId: ID!) {
    viewMember(userId: $userId) {
      user { groups { id name } }
      scopes
      providerAccess { all restrictions { basePath provider { id name } } }
    }
  }
`)

export type MemberView = ResultOf<typeof ViewMemberMutation>['viewMember']

export const StorageNamesQuery = graphql(`
  query MemberStorages { providers { id name } }
`)

export const UpdateMemberMutation = graphql(`
  mutation UpdateMember($input: UpdateMemberInput!) {
    updateMember(input: $input) { id }
  }
`)

export const DeactivateMemberMutation = graphql(`
  mutation DeactivateMember($userId: ID!) {
    deactivateMember(userId: $userId) { id }
  }
`)

export const ReactivateMemberMutation = graphql(`
  mutation ReactivateMember($userId: ID!) {
    reactivateMember(userId: $userId) { id }
  }
`)

export const RemoveMemberMutation = graphql(`
  mutation RemoveMember($userId: ID!) {
    removeMember(userId: $userId)
  }
`)

export const CreatePasswordResetMutation = graphql(`
  mutation CreatePasswordReset($userId: ID!) {
    createPasswordReset(userId: $userId) { token expiresAt }
  }
`)

export const CreateLinkInviteMutation = graphql(`
  mutation CreateLinkInvite($userId: ID!) {
    createLinkInvite(userId: $userId) { invite expiresAt }
  }
`)

export const CreateInviteMutation = graphql(`
  mutation CreateInvite($input: CreateInviteInput!) {
    createInvite(input: $input) { invite expiresAt }
  }
`)

export const InvitesQuery = graphql(`
  query Invites {
    invites {
      id role note createdAt expiresAt
      providerAccess { all restrictions { basePath provider { id name } } }
      createdBy { id name email }
    }
  }
`)

export type Invite = ResultOf<typeof InvitesQuery>['invites'][number]

export const RevokeInviteMutation = graphql(`
  mutation RevokeInvite($id: ID!) {
    revokeInvite(id: $id)
  }
`)

export const RemoveSecondFactorsMutation = graphql(`
  mutation RemoveSecondFactors($userId: ID!) {
    removeSecondFactors(userId: $userId) { id }
  }
`)
