/** Describes an operation: the query parameters that select it, and the call that it receives. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuditAction } from '../../db/schema.ts'
import type { Services } from '../../services/index.ts'
import type { S3Address } from './request.ts'

/** One request, with everything that an operation needs. */
export interface S3Call {
  services: Services
  request: FastifyRequest
  reply: FastifyReply
  query: S3Address['query']
  signal: AbortSignal
}

export interface BucketCall extends S3Call {
  /** The slug. */
  bucket: string
  providerId: string
}

export interface ObjectCall extends BucketCall {
  /** Not empty. */
  key: string
  /** Absolute within the provider, not parsed yet. */
  path: string
  /** Whether the key ends in "/". */
  isFolder: boolean
}

/** Sends the response, or returns its body. */
export type Run<Call> = (call: Call) => Promise<unknown>

export interface S3Operation<Call> {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** The query parameters that select the operation. */
  selects?: readonly string[]
  /** The action that the audit log records if the request is refused. Default: that of the route. */
  audit?: AuditAction
  /** The other query parameters that it takes. */
  takes?: readonly string[]
  /** Refuses a request before its body is read. Required of operations that read XML. @throws as the service that `run` calls */
  authorize?: (call: Call) => void
  run: Run<Call>
}

/**
 * Returns the operation for a method and a query. A parameter that an operation does not know may ask for another one that
 * this server lacks, such as `PUT ?acl`, which must not replace the object.
 */
export function findOperation<Call>(
  operations: readonly S3Operation<Call>[],
  method: string,
  query: S3Address['query'],
): S3Operation<Call> | null {
  const given = [...query.keys()]
  const fits = ({ selects = [], takes = [] }: S3Operation<Call>) =>
    selects.every(name => query.has(name)) && given.every(name => selects.includes(name) || takes.includes(name))
  return operations.find(operation => operation.method === method && fits(operation)) ?? null
}
