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
import type { TusEndpoint } from './endpoint.ts'
import { parseDropMetadata } from './metadata.ts'
import { collectionOperations, uploadOperations } from './operations.ts'

/** The uploads of strangers into the folder of a drop link. */
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
