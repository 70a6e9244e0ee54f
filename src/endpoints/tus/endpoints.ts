/** The two endpoints of tus: for members, and for the recipients of drop links. */
import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { requireScope } from '../../auth/policy.ts'
import { requireViewer } from '../../auth/viewer.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import type { Operation, RequestParameters } from '../../http/openapi/operation.ts'
import {
  authenticateShare,
  openedShare,
  sharePasswordParameter,
  sharePath,
  shareTokenParameter,
} from '../../http/share-link.ts'
import type { Services } from '../../services/index.ts'
import type { NextBytes, OpenUpload, UploadRecord } from '../../services/uploads/index.ts'
import { collectionOperations, uploadOperations } from './operations.ts'
import { parseDropMetadata, parseMetadata } from './protocol.ts'

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

/** The uploads of members. */
export function memberEndpoint({ uploads }: Services): TusEndpoint {
  return {
    collection: '/api/upload/resumable',
    config: {},
    operations: { collection: collectionOperations, upload: uploadOperations },
    maxBytes: uploads.maxBytes,
    requireRight({ viewer }, method) {
      // The service checks the scope of a creation, because only it can name the path in the audit log.
      if (method === 'create') requireViewer(viewer)
      else requireScope(viewer, 'write')
    },
    create: (request, metadata, size) =>
      uploads.create(request.viewer, { ...parseMetadata(metadata), size }, requestSignal(request)),
    open: (request, id, next) => uploads.open(request.viewer, id, requestSignal(request), next),
  }
}

/** The uploads of the recipients of a drop link into its folder. */
export function dropEndpoint(services: Services): TusEndpoint {
  const { sharedFiles } = services
  return {
    collection: `${sharePath}/uploads`,
    config: { authenticate: authenticateShare(services) },
    operations: { collection: ofShare(collectionOperations), upload: ofShare(uploadOperations) },
    maxBytes: services.uploads.maxBytes,
    requireRight: openedShare,
    create: (request, metadata, size) =>
      sharedFiles
        .resumable(openedShare(request))
        .create({ ...parseDropMetadata(metadata), size }, requestSignal(request)),
    // The stored path would say whether the name was taken.
    storedPath: ({ metadata }) => parseDropMetadata(metadata).path,
    open: (request, id, next) => sharedFiles.resumable(openedShare(request)).open(id, requestSignal(request), next),
  }
}

/** Describes the same operations, which a share link authenticates. */
function ofShare(operations: Readonly<Record<string, Operation>>): Record<string, Operation> {
  const described = Object.entries(operations).map(([method, operation]): [string, Operation] => [
    method,
    {
      ...operation,
      id: `${operation.id}ToShare`,
      tag: 'Share links',
      security: [],
      path: { ...shareTokenParameter, ...operation.path },
      headers: { ...sharePasswordParameter, ...forShare(operation.headers) },
      reasons: [
        ...operation.reasons,
        'SHARE_ENDED',
        'SHARE_PASSWORD_REQUIRED',
        'WRONG_SHARE_PASSWORD',
        'FILE_TYPE_NOT_ALLOWED',
      ],
    },
  ])
  return Object.fromEntries(described)
}

function forShare(headers: RequestParameters = {}): RequestParameters {
  const { 'Upload-Metadata': metadata, ...others } = headers
  if (!metadata) return others
  const description =
    'Pairs of a name and base64, separated by commas: `path` in the share with the file name, and optionally `filetype`. A file whose name is taken gets a number.'
  return { ...others, 'Upload-Metadata': { ...metadata, description } }
}
