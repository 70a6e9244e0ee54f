import { AppError, type Reason } from '../../errors.ts'

/** The codes of S3 that this server sends, with their HTTP statuses (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html). */
export const s3Codes = {
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
  InvalidDigest: 400,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  InvalidPolicyDocument: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  InvalidURI: 400,
  KeyTooLongError: 400,
  MalformedXML: 400,
  MethodNotAllowed: 405,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NotImplemented: 501,
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
  NoSuchUpload: 'NOT_FOUND',
  BucketAlreadyOwnedByYou: 'ALREADY_EXISTS',
  MethodNotAllowed: 'METHOD_NOT_ALLOWED',
  BadDigest: 'DIGEST_MISMATCH',
  AccessDenied: 'INVALID_CREDENTIAL',
}

/** An error with a code of S3. */
export class S3Error extends AppError {
  readonly s3Code: S3Code

  constructor(s3Code: S3Code, message: string, cause?: unknown) {
    super(reasonOf[s3Code] ?? 'INVALID_INPUT', message, { cause })
    this.s3Code = s3Code
  }
}
