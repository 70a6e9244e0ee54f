import { type FieldNode, type GraphQLError, type GraphQLSchema, valueFromASTUntyped } from 'graphql'
import type { AuditAction } from '../db/schema.ts'
import { AppError } from '../errors.ts'
import type { AuditFacts } from '../services/audit.ts'
import type { GraphqlContext } from './context.ts'
import { causeOf } from './error-formatter.ts'

/** What a field refuses before a service is asked, or while it only reads, is an event of the audit log, too. */
export function noteRefusals(
  errors: readonly GraphQLError[],
  schema: GraphQLSchema,
  { services, viewer }: GraphqlContext,
  variables: Record<string, unknown> | null,
): void {
  for (const error of errors) {
    const cause = causeOf(error)
    const node = error.nodes?.[0]
    if (!(cause instanceof AppError) || cause.code !== 'FORBIDDEN' || node?.kind !== 'Field') continue
    const name = node.name.value
    const isRoot = error.path?.length === 1
    const action = (isRoot ? actionOf(schema, name) : undefined) ?? 'READ'
    const facts = { ...objectsIn(node, variables ?? {}, action), details: { field: name } }
    services.audit.noteRefusal(viewer, action, facts, cause)
  }
}

function actionOf(schema: GraphQLSchema, mutation: string): AuditAction | undefined {
  const options = schema.getMutationType()?.getFields()[mutation]?.extensions.pothosOptions
  return (options as { audit?: AuditAction } | undefined)?.audit
}

/** Only what is named here: arguments can hold secrets. */
function objectsIn(node: FieldNode, variables: Record<string, unknown>, action: AuditAction): AuditFacts {
  const given: Record<string, unknown> = {}
  for (const { name, value } of node.arguments ?? []) {
    const plain: unknown = valueFromASTUntyped(value, variables)
    if (name.value === 'input' && typeof plain === 'object') Object.assign(given, plain)
    else given[name.value] = plain
  }
  const text = (name: string) => (typeof given[name] === 'string' ? given[name] : undefined)
  const [id, userId, toPath] = [text('id'), text('userId'), text('toPath')]
  if (id !== undefined && action.startsWith('API_KEY_')) return { subject: { kind: 'API_KEY', id } }
  if (id !== undefined && action === 'LOGOUT') return { subject: { kind: 'SESSION', id } }
  if (userId !== undefined && action.startsWith('MEMBER_')) return { subject: { kind: 'MEMBER', id: userId } }
  const providerId = text('providerId') ?? (action.startsWith('PROVIDER_') ? id : undefined)
  return {
    ...(providerId !== undefined && { place: { providerId, path: text('path') } }),
    ...(providerId !== undefined &&
      toPath !== undefined && { to: { providerId: text('toProviderId') ?? providerId, path: toPath } }),
  }
}
