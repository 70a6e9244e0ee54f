import SchemaBuilder, {
  type FieldNullability,
  type InputFieldMap,
  type SchemaTypes,
  type TypeParam,
} from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import ScopeAuthPlugin from '@pothos/plugin-scope-auth'
import type { AuditAction } from '../db/schema.ts'
import type { GraphqlContext } from './context.ts'
import { decideRules, type Rules } from './rules.ts'
import './rules-plugin.ts'

declare global {
  export namespace PothosSchemaTypes {
    // Its parameters are those of the interface that it adds to.
    export interface MutationFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      /** What the mutation does, for the audit log. */
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
  // A limit is checked before execution (see cost.ts), not while it is under way.
  complexity: { disabled: true },
  scopeAuth: {
    defaultStrategy: 'all',
    // What the policy throws reaches the client as it is.
    treatErrorsAsUnauthorized: false,
    authScopes: decideRules,
  },
})

builder.queryType({ description: 'What can be read.' })
builder.mutationType({
  description:
    'What can be changed. Several in one document run one after the other, and stop at the first that fails.',
})
