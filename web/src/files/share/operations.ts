import { graphql, type ResultOf } from '../../api/graphql.ts'

export const CreateShareMutation = graphql(`
  mutation CreateShare($input: CreateShareInput!) {
    createShare(input: $input) { url share { id } }
  }
`)

export type NewShare = ResultOf<typeof CreateShareMutation>['createShare']
export type ShareKind = 'VIEW' | 'DROP'
