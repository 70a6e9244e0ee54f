/** The descriptions of resumable uploads in `/openapi.json`. */
import { reasonsAtPaths, reasonsToStore } from '../../http/openapi/errors.ts'
import {
  bytes,
  type Operation,
  type RequestParameters,
  type ResponseHeaders,
  text,
  withCredential,
} from '../../http/openapi/operation.ts'
import { checksumAlgorithms } from '../../services/uploads/receive.ts'
import { bodyType, extensions, overrides, version } from './protocol.ts'

const tag = 'Resumable uploads'

const tusResumable = { description: 'The version of the protocol.', schema: { const: version } }
const tusVersion = { description: 'The supported version of the protocol.', schema: { const: version } }

const uploadLength = { description: 'The size of the file in bytes.', schema: bytes }
const uploadMetadata = {
  description:
    'Pairs of a name and base64, separated by commas: `providerId`, `path` with the file name, and optionally `conflict`, `filetype` and `modifiedAt`. Other names are kept for the client.',
  schema: text,
}
const uploadChecksum = {
  description: `The checksum of the body: \`<algorithm> <base64>\` with ${checksumAlgorithms.join(', ')}.`,
  schema: { type: 'string', examples: ['sha1 C1TtHQG6nlpMxsN4k2hr6wb2VTY='] },
}

const id: RequestParameters = { id: { description: 'The ID of the upload.', schema: text } }
const always: RequestParameters = { 'Tus-Resumable': { ...tusResumable, required: true } }

const every: ResponseHeaders = { 'Tus-Resumable': tusResumable }
const state: ResponseHeaders = {
  ...every,
  'Upload-Offset': { description: 'The bytes that were received.', schema: bytes },
  'Upload-Expires': { description: 'Until when the upload can be continued, unless it is complete.', schema: text },
  'Upload-Stored-Path': { description: 'The path of the complete file, percent-encoded.', schema: text },
}
const fullState: ResponseHeaders = {
  ...state,
  'Upload-Length': uploadLength,
  'Upload-Defer-Length': { description: '`1` while the size is unknown.', schema: { const: '1' } },
  'Upload-Metadata': uploadMetadata,
}
const errorHeaders: ResponseHeaders = { ...every, 'Tus-Version': tusVersion }

const reasons = [
  ...reasonsAtPaths,
  ...reasonsToStore,
  'TOO_MANY_UPLOADS',
  'UPLOAD_LOCKED',
  'CHECKSUM_MISMATCH',
] as const

const describeServer: Operation = {
  id: 'describeUploads',
  tag,
  summary: 'Returns what the server supports.',
  security: [],
  responses: {
    204: {
      description: 'The capabilities.',
      headers: {
        ...errorHeaders,
        'Tus-Extension': { description: 'The extensions.', schema: { const: extensions.join(',') } },
        'Tus-Checksum-Algorithm': { description: 'The algorithms.', schema: { const: checksumAlgorithms.join(',') } },
        'Tus-Max-Size': { description: 'The maximum size of a file, if there is one.', schema: bytes },
      },
    },
  },
  reasons: [],
  errorHeaders,
}

const createUpload: Operation = {
  id: 'createUpload',
  tag,
  summary: 'Begins a resumable upload (https://tus.io/protocols/resumable-upload), optionally with its first bytes.',
  security: withCredential,
  headers: {
    ...always,
    'Upload-Length': uploadLength,
    'Upload-Defer-Length': { description: '`1` to send the size later.', schema: { const: '1' } },
    'Upload-Metadata': { ...uploadMetadata, required: true },
    'Upload-Checksum': uploadChecksum,
  },
  body: { description: 'The first bytes of the file.', content: { [bodyType]: null } },
  responses: {
    201: {
      description: 'The upload has begun, or is complete.',
      headers: {
        ...state,
        Location: { description: 'The address of the upload.', schema: { type: 'string', format: 'uri-reference' } },
      },
    },
  },
  reasons,
  errorHeaders,
}

const appendToUpload: Operation = {
  id: 'appendToUpload',
  tag,
  summary: 'Continues an upload. The last bytes make the file visible.',
  security: withCredential,
  path: id,
  headers: {
    ...always,
    'Upload-Offset': { description: 'The bytes that the server has received.', required: true, schema: bytes },
    'Upload-Length': { ...uploadLength, description: 'The size of the file, if it was not sent before.' },
    'Upload-Checksum': uploadChecksum,
  },
  body: { description: 'The next bytes.', required: true, content: { [bodyType]: null } },
  responses: { 204: { description: 'The bytes are stored.', headers: state } },
  reasons: [...reasons, 'OFFSET_MISMATCH'],
  errorHeaders,
}

const getUpload: Operation = {
  id: 'headUpload',
  tag,
  summary: 'Returns the state of an upload.',
  security: withCredential,
  path: id,
  headers: always,
  responses: { 200: { description: 'The state.', headers: fullState } },
  reasons,
  errorHeaders,
}

const deleteUpload: Operation = {
  id: 'deleteUpload',
  tag,
  summary: 'Cancels an upload and deletes its bytes.',
  security: withCredential,
  path: id,
  headers: always,
  responses: { 204: { description: 'The upload is deleted.', headers: every } },
  reasons,
  errorHeaders,
}

const overrideMethod: Operation = {
  ...appendToUpload,
  id: 'overrideUploadMethod',
  summary: 'Continues, reads or deletes an upload, for clients that can only send POST.',
  headers: {
    'X-HTTP-Method-Override': {
      description: 'The method to run.',
      required: true,
      schema: { type: 'string', enum: overrides },
    },
    ...always,
    // Only PATCH requires this header.
    'Upload-Offset': { description: 'The bytes that the server has received, for PATCH.', schema: bytes },
    'Upload-Length': uploadLength,
    'Upload-Checksum': uploadChecksum,
  },
  body: { description: 'The next bytes, for PATCH.', content: { [bodyType]: null } },
  responses: {
    200: { description: 'The state, for HEAD.', headers: fullState },
    204: { description: 'The bytes are stored, or the upload is deleted.', headers: state },
  },
  reasons: [...appendToUpload.reasons, 'METHOD_NOT_ALLOWED'],
}

/** By method. */
export const collectionOperations = { OPTIONS: describeServer, POST: createUpload } as const

/** By method. */
export const uploadOperations = {
  OPTIONS: { ...describeServer, id: 'describeUpload', path: id },
  PATCH: appendToUpload,
  HEAD: getUpload,
  DELETE: deleteUpload,
  POST: overrideMethod,
} as const
