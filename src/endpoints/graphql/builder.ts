import SchemaBuilder, {
  type FieldNullability,
  type InputFieldMap,
  type SchemaTypes,
  type TypeParam,
} from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import ScopeAuthPlugin from '@pothos/plugin-scope-auth'
import { GraphQLError, GraphQLScalarType, type ValueNode, valueFromASTUntyped } from 'graphql'
import { GraphQLDateTimeISO, GraphQLJSON, GraphQLSafeInt } from 'graphql-scalars'
import type { AuditAction } from '../../db/schema.ts'
import type { GraphqlContext } from './context.ts'
import { decideRules, type Rules } from './rules.ts'

declare global {
  export namespace PothosSchemaTypes {
    // TypeScript requires the same type parameters as the interface that this extends.
    export interface MutationFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      /** The action that the audit log records for the mutation. */
      audit: AuditAction
    }
  }
}

export const builder = new SchemaBuilder<{
  Context: GraphqlContext
  DefaultFieldNullability: false
  DefaultAuthStrategy: 'all'
  AuthScopes: Rules
  Scalars: {
    DateTime: { Input: Date; Output: Date }
    SafeInt: { Input: number; Output: number }
    JSON: { Input: unknown; Output: unknown }
  }
}>({
  plugins: [ComplexityPlugin, ScopeAuthPlugin, 'rules'],
  defaultFieldNullability: false,
  // The cost is checked once, before execution: see cost.ts.
  complexity: { disabled: true },
  scopeAuth: {
    defaultStrategy: 'all',
    authorizeOnSubscribe: true,
    // The client gets the error that the policy throws.
    treatErrorsAsUnauthorized: false,
    authScopes: decideRules,
  },
})

builder.queryType({ description: 'All queries.' })
builder.mutationType({
  description:
    'All mutations. Several mutations in one document run one after the other and stop at the first that fails.',
})
builder.subscriptionType({
  description:
    'All subscriptions. Send them with `Accept: text/event-stream`; the events follow the GraphQL over SSE protocol, mode of distinct connections.',
})

/** Replaces the library's message, which does not say how to write a time. */
function parseTime(value: unknown, node?: ValueNode): Date {
  try {
    return GraphQLDateTimeISO.parseValue(value)
  } catch {
    const message = 'A DateTime must be written as YYYY-MM-DDThh:mm:ssZ, or with an offset such as +02:00 instead of Z.'
    throw new GraphQLError(message, node ? { nodes: node } : {})
  }
}

const dateTime = new GraphQLScalarType({
  ...GraphQLDateTimeISO.toConfig(),
  parseValue: value => parseTime(value),
  parseLiteral: node => parseTime(valueFromASTUntyped(node), node),
})

builder.addScalarType('DateTime', dateTime, {
  description: 'A time in ISO 8601 with offset, as in RFC 3339: 2026-11-21T09:30:00.000Z.',
})
builder.addScalarType('SafeInt', GraphQLSafeInt, {
  description: 'A whole number up to 2^53 - 1, as a JSON number.',
})
builder.addScalarType('JSON', GraphQLJSON, { description: 'Any JSON value.' })
