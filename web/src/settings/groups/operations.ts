import { graphql, type ResultOf } from '../../api/graphql.ts'

export const GroupsQuery = graphql(`
  query Groups($after: String) {
    groups(first: 100, after: $after) {
      nodes {
        id name role memberCount
        providerAccess { all restrictions { basePath provider { id name } } }
      }
      pageInfo { endCursor hasNextPage }
    }
  }
`)

export type Group = ResultOf<typeof GroupsQuery>['groups']['nodes'][number]

export const CreateGroupMutation = graphql(`
  mutation CreateGroup($input: CreateGroupInput!) {
    createGroup(input: $input) { group { id } }
  }
`)

export const UpdateGroupMutation = graphql(`
  mutation UpdateGroup($input: UpdateGroupInput!) {
    updateGroup(input: $input) { id }
  }
`)

export const DeleteGroupMutation = graphql(`
  mutation DeleteGroup($id: ID!) {
    deleteGroup(id: $id) { id }
  }
`)

export const PeopleQuery = graphql(`
  query People($groupId: ID, $after: String) {
    users(first: 200, groupId: $groupId, after: $after) {
      nodes { id email name isServiceAccount issuedGroupIds }
      pageInfo { endCursor hasNextPage }
    }
  }
`)

export type Person = ResultOf<typeof PeopleQuery>['users']['nodes'][number]

export const AddGroupMemberMutation = graphql(`
  mutation AddGroupMember($groupId: ID!, $userId: ID!) {
    addGroupMember(groupId: $groupId, userId: $userId) { id }
  }
`)

export const RemoveGroupMemberMutation = graphql(`
  mutation RemoveGroupMember($groupId: ID!, $userId: ID!) {
    removeGroupMember(groupId: $groupId, userId: $userId) { id }
  }
`)
