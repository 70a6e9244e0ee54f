import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import type { Operation } from '../../http/openapi/operation.ts'
import type { NextBytes, OpenUpload, UploadRecord } from '../../services/uploads/index.ts'

/** The uploads of one endpoint. */
export interface TusEndpoint {
  /** The path that begins uploads; below it, each upload has its ID. */
  collection: string
  config: Pick<FastifyContextConfig, 'authenticate'>
  /** By method. */
  operations: { collection: Readonly<Record<string, Operation>>; upload: Readonly<Record<string, Operation>> }
  /** Bytes. */
  maxBytes: number
  /** Refuses a request before its body is read, and before the version of its protocol is checked. */
  requireRight(request: FastifyRequest, method: 'create' | 'continue'): void
  create(request: FastifyRequest, metadata: string, size: number | null): Promise<OpenUpload>
  /** Returns the path of a stored file for its client. Default: where it is stored. */
  storedPath?: (record: UploadRecord) => string
  open(request: FastifyRequest, id: string, next?: NextBytes): Promise<OpenUpload>
}
