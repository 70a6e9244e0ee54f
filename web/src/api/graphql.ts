/** Types GraphQL operations from the printed schema, so that an unknown field does not compile. */
import { initGraphQLTada } from 'gql.tada'
import type { introspection } from './introspection.ts'

export const graphql = initGraphQLTada<{
  introspection: introspection
  scalars: { DateTime: string; SafeInt: number; JSON: unknown; ID: string }
}>()

export type { ResultOf, VariablesOf } from 'gql.tada'
