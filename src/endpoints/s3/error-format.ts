import type { FastifyRequest } from 'fastify'
import { SignatureError } from '../../auth/sigv4/failure.ts'
import type { AppError, Reason } from '../../errors.ts'
import type { ErrorResponse } from '../../http/error-formats.ts'
import { type S3Code, S3Error, s3Codes } from './failure.ts'
import { document, element, xmlType } from './xml.ts'

const codes: Partial<Record<Reason, S3Code>> = {
  INVALID_CREDENTIAL: 'InvalidAccessKeyId',
  RATE_LIMITED: 'SlowDown',
  TOO_MANY_UPLOADS: 'SlowDown',
  NOT_FOUND: 'NoSuchKey',
  INVALID_INPUT: 'InvalidArgument',
  INVALID_PATH: 'InvalidArgument',
  ROOT_IS_FIXED: 'InvalidArgument',
  INCOMPLETE_BODY: 'IncompleteBody',
  METHOD_NOT_ALLOWED: 'MethodNotAllowed',
  ALREADY_EXISTS: 'ConditionalRequestConflict',
  UPLOAD_UNDER_WAY: 'ConditionalRequestConflict',
  UPLOAD_LOCKED: 'OperationAborted',
  IN_USE: 'OperationAborted',
  PART_MISSING: 'InvalidPart',
  PART_TOO_SMALL: 'EntityTooSmall',
  PRECONDITION_FAILED: 'PreconditionFailed',
  TOO_LARGE: 'EntityTooLarge',
  RANGE_NOT_SATISFIABLE: 'InvalidRange',
  CHECKSUM_MISMATCH: 'BadDigest',
  DIGEST_MISMATCH: 'BadDigest',
  QUOTA_EXCEEDED: 'QuotaExceeded',
  BACK_END_RATE_LIMITED: 'SlowDown',
  UNAVAILABLE: 'ServiceUnavailable',
}

/** Sends errors as S3 does, with the reason that the other endpoints send. */
export function formatS3Error(error: AppError, { id }: FastifyRequest): ErrorResponse {
  const code = codeOf(error)
  return {
    status: s3Codes[code],
    // A response to HEAD has no body.
    headers: { 'Content-Type': xmlType, 'X-Stowage-Reason': error.reason, 'x-amz-request-id': id },
    body: document(
      element('Error', [
        element('Code', code),
        element('Message', error.message),
        element('Reason', error.reason),
        element('RequestId', id),
      ]),
    ),
  }
}

export function codeOf(error: AppError): S3Code {
  if (error instanceof S3Error) return error.s3Code
  if (error instanceof SignatureError) return error.fault
  const known = codes[error.reason]
  if (known) return known
  if (error.status >= 500) return 'InternalError'
  return error.status === 401 || error.status === 403 ? 'AccessDenied' : 'InvalidRequest'
}
