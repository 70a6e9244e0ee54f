/** The errors of S3: its codes, which of them stand for the errors of services, and their XML. */
import type { FastifyRequest } from 'fastify'
import { AppError, type Reason } from '../../errors.ts'
import type { ErrorResponse } from '../../http/errors.ts'
import { noProvider } from '../../services/providers/index.ts'
import { document, element, xmlType } from './xml.ts'

/** The codes of S3 that this server sends, with their HTTP statuses (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html). */
const s3Codes = {
  AccessDenied: 403,
  AuthorizationHeaderMalformed: 400,
  AuthorizationQueryParametersError: 400,
  BadDigest: 400,
  BucketAlreadyOwnedByYou: 409,
  ConditionalRequestConflict: 409,
  EntityTooLarge: 400,
  EntityTooSmall: 400,
  IncompleteBody: 400,
  InternalError: 500,
  InvalidAccessKeyId: 403,
  InvalidArgument: 400,
  InvalidBucketState: 409,
  InvalidDigest: 400,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  InvalidPolicyDocument: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  InvalidRetentionPeriod: 400,
  InvalidURI: 400,
  KeyTooLongError: 400,
  MalformedXML: 400,
  MethodNotAllowed: 405,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchObjectLockConfiguration: 404,
  NoSuchUpload: 404,
  NotImplemented: 501,
  ObjectLockConfigurationNotFoundError: 404,
  OperationAborted: 409,
  PreconditionFailed: 412,
  QuotaExceeded: 403,
  RequestTimeTooSkewed: 403,
  ServiceUnavailable: 503,
  SignatureDoesNotMatch: 403,
  SlowDown: 503,
} as const

export type S3Code = keyof typeof s3Codes

/** The reason in the log for an error that only S3 knows. */
const reasonOf: Partial<Record<S3Code, Reason>> = {
  NoSuchBucket: 'NOT_FOUND',
  NoSuchKey: 'NOT_FOUND',
  NoSuchObjectLockConfiguration: 'NOT_FOUND',
  NoSuchUpload: 'NOT_FOUND',
  ObjectLockConfigurationNotFoundError: 'NOT_FOUND',
  InvalidBucketState: 'PRECONDITION_FAILED',
  BucketAlreadyOwnedByYou: 'ALREADY_EXISTS',
  MethodNotAllowed: 'METHOD_NOT_ALLOWED',
  BadDigest: 'DIGEST_MISMATCH',
  AccessDenied: 'INVALID_CREDENTIAL',
}

/** An error with a code of S3. */
export class S3Error extends AppError {
  readonly s3Code: S3Code

  constructor(s3Code: S3Code, message: string, cause?: unknown, reason = reasonOf[s3Code] ?? 'INVALID_INPUT') {
    super(reason, message, { cause })
    this.s3Code = s3Code
  }
}

/** The error for a request whose signature lacks a part, is out of date or is wrong. */
export class SignatureError extends S3Error {
  constructor(s3Code: S3Code, message: string) {
    super(s3Code, message, undefined, 'INVALID_CREDENTIAL')
  }
}

/** @param cause the error of the service */
export function noSuchKey(cause?: unknown): S3Error {
  return new S3Error('NoSuchKey', 'There is no object with this key.', cause)
}

/** The services report a missing bucket as they report a missing file. */
export function explainBucket(error: unknown, providerId: string): unknown {
  if (providerId !== noProvider || !(error instanceof AppError) || error.reason !== 'NOT_FOUND') return error
  return new S3Error('NoSuchBucket', 'You have no bucket with this name.', error)
}

/** The services report a missing upload as they report a missing file. @throws S3Error, or the error itself */
export function explainUpload(error: unknown, providerId: string): never {
  const explained = explainBucket(error, providerId)
  if (explained instanceof S3Error || !(explained instanceof AppError) || explained.reason !== 'NOT_FOUND') {
    throw explained
  }
  throw new S3Error('NoSuchUpload', 'There is no such upload, or it has ended: begin a new one.', error)
}

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
  LOCKED: 'OperationAborted',
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
  const known = codes[error.reason]
  if (known) return known
  if (error.status >= 500) return 'InternalError'
  return error.status === 401 || error.status === 403 ? 'AccessDenied' : 'InvalidRequest'
}
