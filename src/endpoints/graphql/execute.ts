import { RequestCache } from '@pothos/plugin-scope-auth'
import type { FastifyInstance } from 'fastify'
import {
  createSourceEventStream,
  type ExecutionResult,
  execute,
  type FieldNode,
  type GraphQLError,
  type GraphQLSchema,
  valueFromASTUntyped,
} from 'graphql'
import type { Viewer } from '../../auth/viewer.ts'
import type { AuditAction } from '../../db/schema.ts'
import { AppError, publicError, toAppError } from '../../errors.ts'
import type { AuditFacts } from '../../services/audit/index.ts'
import { siblingOf } from '../../services/files/index.ts'
import { factsOfItem } from '../../services/trash/index.ts'
import type { GraphqlContext } from './context.ts'
import { causeOf, type FormattedError, formatExecution, formatRefusal, maxErrors } from './error-formatter.ts'
import type { PreparedOperation } from './prepare.ts'

/** A response without `data` means that the request was refused and nothing was executed. */
export interface GraphqlResponse {
  errors?: FormattedError[]
  data?: ExecutionResult['data']
}

/** Called for each error that the client did not cause. */
type Report = (error: AppError, path: string) => void

interface Execution {
  prepared: PreparedOperation
  context: GraphqlContext
  report: Report
}

/** Executes a query or mutation. */
export type Execute = (execution: Execution) => Promise<GraphqlResponse>

export function createExecute(app: FastifyInstance, schema: GraphQLSchema): Execute {
  return async execution => {
    const { prepared, context } = execution
    const { query, variables, operationName } = prepared.parameters
    const result = await app.graphql(query, context, variables ?? undefined, operationName ?? undefined)
    return toResponse(schema, execution, result)
  }
}

/** Formats a result, and frees what was cached for its context. */
function toResponse(
  schema: GraphQLSchema,
  { prepared, context, report }: Execution,
  { data, errors }: ExecutionResult,
): GraphqlResponse {
  const { requestId } = context
  // The cache would keep the context and its request alive beyond the next minor garbage collection.
  RequestCache.clearForContext(context)
  const { refusal } = context.response
  if (refusal) {
    const first = errors?.find(error => causeOf(error) === refusal)
    return {
      errors: first ? formatExecution([first], requestId, report) : formatRefusal(refusal, requestId),
      data: null,
    }
  }
  if (!errors) return { data }
  noteRefusals(errors.slice(0, maxErrors), schema, context, prepared.parameters.variables)
  return { errors: formatExecution(errors, requestId, report), data: data ?? null }
}

/** Records in the audit log the fields that a rule refused, and refused reads. */
function noteRefusals(
  errors: readonly GraphQLError[],
  schema: GraphQLSchema,
  { services, viewer }: GraphqlContext,
  variables: Record<string, unknown> | null,
): void {
  for (const error of errors) {
    const cause = causeOf(error)
    const node = error.nodes?.[0]
    if (!(cause instanceof AppError) || node?.kind !== 'Field') continue
    const name = node.name.value
    const isRoot = error.path?.length === 1
    const mutation = isRoot ? actionOf(schema, name) : undefined
    // The rule of a mutation parses the paths, so an invalid path never reaches the service that would record it.
    const isRefusal = cause.code === 'FORBIDDEN' || (mutation && cause.reason === 'INVALID_PATH')
    if (!isRefusal) continue
    const action = mutation ?? 'READ'
    const facts = { ...objectsIn(node, variables ?? {}, action), details: { field: name } }
    services.audit.noteRefusal(viewer, action, facts, cause)
  }
}

function actionOf(schema: GraphQLSchema, mutation: string): AuditAction | undefined {
  const options = schema.getMutationType()?.getFields()[mutation]?.extensions.pothosOptions
  return (options as { audit?: AuditAction } | undefined)?.audit
}

/** Returns only the facts named here, because other arguments can contain secrets. */
function objectsIn(node: FieldNode, variables: Record<string, unknown>, action: AuditAction): AuditFacts {
  const args: Record<string, unknown> = {}
  for (const { name, value } of node.arguments ?? []) {
    const plain: unknown = valueFromASTUntyped(value, variables)
    if (name.value === 'input' && typeof plain === 'object') Object.assign(args, plain)
    else args[name.value] = plain
  }
  const text = (name: string) => (typeof args[name] === 'string' ? args[name] : undefined)
  const [firstPath] = Array.isArray(args.paths) ? args.paths : []
  const [id, userId] = [text('id'), text('userId')]
  const path = text('path') ?? (typeof firstPath === 'string' ? firstPath : undefined)
  if (id !== undefined && action.startsWith('API_KEY_')) return { subject: { kind: 'API_KEY', id } }
  if (id !== undefined && action.startsWith('JOB_')) return { subject: { kind: 'JOB', id } }
  if (id !== undefined && action.startsWith('SCHEDULE_')) return { subject: { kind: 'SCHEDULE', id } }
  if (id !== undefined && action.startsWith('SHARE_')) return { subject: { kind: 'SHARE', id } }
  const webhookId = text('webhookId') ?? (action.startsWith('WEBHOOK_') ? id : undefined)
  if (webhookId !== undefined) return { subject: { kind: 'WEBHOOK', id: webhookId } }
  if (id !== undefined && action === 'LOGOUT') return { subject: { kind: 'SESSION', id } }
  if (id !== undefined && (action === 'RESTORE' || action === 'VERSION_DELETE')) return factsOfItem(id)
  if (userId !== undefined && action.startsWith('MEMBER_')) return { subject: { kind: 'MEMBER', id: userId } }
  const job: { sources?: unknown; target?: unknown } = Object(args.job ?? args)
  const [source] = Array.isArray(job.sources) ? job.sources.map(locationIn) : []
  const target = locationIn(job.target)
  const [folder] = Array.isArray(args.within) ? args.within.map(locationIn) : []
  const location = locationIn(args.location) ?? folder
  if (location) return { location }
  if (source) return { location: source, ...(target && { to: target }) }
  const providerId = text('providerId') ?? (action.startsWith('PROVIDER_') ? id : undefined)
  const isRename = action === 'RENAME' && path !== undefined
  const toPath = isRename ? siblingOf(path, text('name') ?? '') : text('toPath')
  return {
    ...(providerId !== undefined && { location: { providerId, path } }),
    ...(providerId !== undefined &&
      toPath !== undefined && { to: { providerId: text('toProviderId') ?? providerId, path: toPath } }),
  }
}

function locationIn(input: unknown): { providerId: string; path: string } | null {
  if (typeof input !== 'object' || input === null || !('providerId' in input) || !('path' in input)) return null
  const { providerId, path } = input
  return typeof providerId === 'string' && typeof path === 'string' ? { providerId, path } : null
}

/** The events of every subscription carry the viewer with the rights that they have at that time. */
interface Event {
  viewer: Viewer
}

export interface Subscribing extends Execution {
  /** Returns a new context for an event. `done` releases its memory. */
  contextOf(viewer: Viewer): { context: GraphqlContext; done: () => void }
}

/** Yields a response for each event. The last one has errors if the subscription failed. */
export type Subscribe = (subscribing: Subscribing) => AsyncGenerator<GraphqlResponse, void, undefined>

export function createSubscribe(schema: GraphQLSchema): Subscribe {
  return async function* subscribe(subscribing) {
    const { prepared, context, contextOf, report } = subscribing
    const { document } = prepared
    const { variables: variableValues, operationName } = prepared.parameters
    const operation = { schema, document, variableValues, operationName }
    const source = await createSourceEventStream({ ...operation, contextValue: context })
    if (!(Symbol.asyncIterator in source)) {
      yield toResponse(schema, subscribing, source)
      return
    }
    try {
      for await (const event of source as AsyncIterable<Event>) {
        const { context: contextValue, done } = contextOf(event.viewer)
        try {
          const result = await execute({ ...operation, rootValue: event, contextValue })
          yield toResponse(schema, { prepared, context: contextValue, report }, result)
        } finally {
          done()
        }
      }
    } catch (error) {
      if (context.signal.aborted) return
      const failure = toAppError(error)
      if (failure.code === 'INTERNAL_SERVER_ERROR') report(failure, '')
      yield { errors: [publicError(failure, context.requestId)], data: null }
    }
  }
}
