import { type Reason, reasons } from '../../errors.ts'
import type { DescribedResponse, JsonSchema, Operation, ResponseHeader } from './operation.ts'

/** The reasons that every endpoint can have. */
const everywhere: readonly Reason[] = [
  'INVALID_INPUT',
  'INCOMPLETE_BODY',
  'INVALID_CREDENTIAL',
  'KEY_EXPIRED',
  'KEY_REVOKED',
  'SESSION_ENDED',
  'ACCOUNT_DEACTIVATED',
  'TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RATE_LIMITED',
  'INTERNAL',
  'UNAVAILABLE',
]

/** The reasons of endpoints that require a credential and call a back end. */
export const reasonsAtPaths: readonly Reason[] = [
  'CREDENTIAL_REQUIRED',
  'SCOPE_REQUIRED',
  'PROVIDER_NOT_ALLOWED',
  'OUTSIDE_BASE_PATH',
  'INVALID_PATH',
  'NOT_FOUND',
  'NOT_A_FILE',
  'NOT_A_FOLDER',
  'PRECONDITION_FAILED',
  'IN_USE',
  'BACK_END_REFUSED',
  'BACK_END_FAULT',
  'BACK_END_CREDENTIALS',
  'NEEDS_RECONNECT',
  'BACK_END_RATE_LIMITED',
]

/** The reasons of endpoints that store a file, besides `reasonsAtPaths`. */
export const reasonsToStore: readonly Reason[] = [
  'ALREADY_EXISTS',
  'UPLOAD_UNDER_WAY',
  'NOT_EMPTY',
  'ROOT_IS_FIXED',
  'QUOTA_EXCEEDED',
  'INFECTED',
]

const names = Object.keys(reasons) as Reason[]

const extensions: Readonly<Record<string, JsonSchema>> = {
  code: { type: 'string', enum: [...new Set(names.map(name => reasons[name].code))] },
  reason: { type: 'string', enum: names },
  retryable: { type: 'boolean', description: 'Whether the same request can succeed later.' },
  retryAfterMs: { type: 'number', minimum: 0, description: 'Milliseconds to wait, if the time is known.' },
  requestId: { type: 'string' },
  requiredScope: { type: 'string', description: 'The scope that the credential lacks.' },
  upload: {
    type: 'object',
    description: 'The upload that reserves the name, for `takeOverUpload`.',
    required: ['id', 'startedAt', 'lastActiveAt', 'received', 'size', 'by'],
    properties: {
      id: { type: 'string' },
      startedAt: { type: 'string', format: 'date-time' },
      lastActiveAt: { type: 'string', format: 'date-time', description: 'When the server last stored bytes of it.' },
      received: { type: 'integer', minimum: 0, description: 'Bytes.' },
      size: { type: ['integer', 'null'], minimum: 0, description: 'Bytes; null until the client sends it.' },
      by: {
        type: ['object', 'null'],
        description: 'The member who uploads, unless you may not see them or it is somebody with a share link.',
        required: ['id', 'name', 'email'],
        properties: { id: { type: 'string' }, name: { type: ['string', 'null'] }, email: { type: 'string' } },
      },
    },
  },
  stored: {
    type: 'array',
    items: { type: 'string' },
    description: 'The paths of the files of a form that were stored before the error.',
  },
}

/** The one shape of all errors: `publicError`. */
export const errorSchema: JsonSchema = {
  type: 'object',
  required: ['errors'],
  properties: {
    errors: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['message', 'extensions'],
        properties: {
          message: { type: 'string', description: 'A sentence for people, which can change.' },
          extensions: {
            type: 'object',
            required: ['code', 'reason', 'retryable', 'requestId'],
            properties: extensions,
          },
        },
      },
    },
  },
}

const retryAfter: ResponseHeader = { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } }
const authenticate: ResponseHeader = { description: '`Bearer`.', schema: { type: 'string' } }

/** Returns the error responses of an operation by status. Their descriptions list the reasons. */
export function errorResponses({
  reasons: own,
  errorHeaders,
  sendsPages,
}: Operation): Record<number, DescribedResponse> {
  const byStatus = Map.groupBy(new Set([...everywhere, ...own]), reason => reasons[reason].status)
  return Object.fromEntries(
    [...byStatus].map(([status, found]) => [
      status,
      {
        description: found.join(', '),
        headers: {
          ...errorHeaders,
          ...(status === 401 && { 'WWW-Authenticate': authenticate }),
          ...(status >= 409 && { 'Retry-After': retryAfter }),
        },
        content: {
          'application/json': { $ref: '#/components/schemas/Errors' },
          ...(sendsPages && { 'text/html': { type: 'string' } }),
        },
      },
    ]),
  )
}
