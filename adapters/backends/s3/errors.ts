import type { S3ServiceException } from '@aws-sdk/client-s3'
import { isNetworkError, whyUnreachable } from '../../bases/errors.ts'
import { parseRetryAfter } from '../../bases/retry.ts'
import { StorageError, type StorageErrorCode } from '../../contract.ts'

/** The names that messages mention. */
export interface Where {
  bucket: string
  region: string
  endpointName: string
}

type Meaning = readonly [StorageErrorCode, string | ((where: Where, error: Vendor) => string)]

/** Fields in the body of some error responses. */
type Vendor = S3ServiceException & { Code?: string; Region?: string; ServerTime?: string; code?: string }

const busy: Meaning = ['RATE_LIMITED', 'The back end gets too many requests: wait a little, then try again.']
const unknownKey: Meaning = [
  'UNAUTHORIZED',
  ({ endpointName }) => `${endpointName} does not know the access key ID: correct it, or make a new one.`,
]
const token: Meaning = ['UNAUTHORIZED', 'The session token has expired or is not valid: enter new credentials.']
const clock: Meaning = ['UNAVAILABLE', clockSentence]
const region: Meaning = ['UNAVAILABLE', regionSentence]
const denied: Meaning = [
  'PERMISSION_DENIED',
  ({ bucket }) => `The credentials do not allow this in the bucket "${bucket}": check their permissions.`,
]
const full: Meaning = ['QUOTA_EXCEEDED', 'The back end is full: free some space, or raise the quota.']
const badName: Meaning = ['INVALID_PATH', 'The back end cannot store such a name.']
const again: Meaning = ['UNAVAILABLE', 'Another write to this path was running: try again.']

/** Keys are the codes in the response's body: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
const meanings: Record<string, Meaning> = {
  NoSuchKey: ['NOT_FOUND', 'There is nothing at this path.'],
  NoSuchBucket: ['UNAVAILABLE', missingBucket],
  NoSuchUpload: ['NOT_FOUND', 'The upload no longer exists: it was completed or canceled. Begin again.'],
  InvalidAccessKeyId: unknownKey,
  SignatureDoesNotMatch: ['UNAUTHORIZED', 'The secret access key does not match the access key ID: enter both again.'],
  ExpiredToken: token,
  InvalidToken: token,
  TokenRefreshRequired: token,
  RequestTimeTooSkewed: clock,
  RequestExpired: clock,
  AuthorizationHeaderMalformed: region,
  PermanentRedirect: region,
  TemporaryRedirect: region,
  Redirect: region,
  IllegalLocationConstraintException: region,
  AccessDenied: denied,
  AllAccessDisabled: denied,
  AccountProblem: denied,
  MethodNotAllowed: denied,
  InvalidObjectState: ['PERMISSION_DENIED', 'The file is archived: restore it at the back end first.'],
  SlowDown: busy,
  TooManyRequests: busy,
  TooManyRequestsException: busy,
  Throttling: busy,
  ThrottlingException: busy,
  RequestLimitExceeded: busy,
  BandwidthLimitExceeded: busy,
  EntityTooLarge: ['QUOTA_EXCEEDED', 'The file is larger than the back end can store.'],
  QuotaExceeded: full,
  InsufficientCapacity: full,
  XMinioStorageFull: full,
  XMinioAdminBucketQuotaExceeded: full,
  KeyTooLongError: badName,
  InvalidURI: badName,
  XMinioInvalidObjectName: badName,
  InvalidObjectName: badName,
  PreconditionFailed: ['PRECONDITION_FAILED', 'The file has changed since.'],
  ConditionalRequestConflict: again,
  OperationAborted: again,
  InvalidRange: ['RANGE_NOT_SATISFIABLE', 'The range begins past the end of the file.'],
}

/** The errors of responses without a body, such as those to HEAD. */
const statusMeanings: Record<number, Meaning> = {
  301: region,
  307: region,
  401: denied,
  403: denied,
  404: ['NOT_FOUND', 'There is nothing at this path.'],
  409: again,
  412: ['PRECONDITION_FAILED', 'The file has changed since.'],
  416: ['RANGE_NOT_SATISFIABLE', 'The range begins past the end of the file.'],
  429: busy,
  507: full,
}

/** Converts errors of the back end and the network. Returns others unchanged: an abort, or a bug. */
export function toStorageError(error: unknown, where: Where): unknown {
  if (!(error instanceof Error) || error.name === 'StorageError' || error.name === 'AbortError') return error
  const vendor = error as Vendor
  const status = vendor.$metadata?.httpStatusCode
  if (status === undefined) return isNetworkError(vendor) ? unreachable(vendor, where) : error
  const wait = parseRetryAfter(vendor.$response?.headers['retry-after'])
  const isBusy = status === 503 && wait !== undefined
  const [code, sentence] = meanings[codeOf(vendor)] ?? (isBusy ? busy : (statusMeanings[status] ?? faulty(status)))
  const message = typeof sentence === 'string' ? sentence : sentence(where, vendor)
  return new StorageError(code, message, { cause: withoutSecrets(vendor), retryAfterMs: wait })
}

/** Removes long words, as a cause is logged and Amazon's error responses repeat session tokens and signed text. */
function withoutSecrets(error: Vendor): Error {
  const { message, $metadata, $fault } = error
  return Object.assign(new Error(message.replace(/[\w.~+/=%-]{40,}/g, '...')), {
    name: codeOf(error),
    $metadata,
    $fault,
  })
}

/** Returns S3's error code, which the SDK stores in `Code` or `name`. */
export function codeOf(error: unknown): string {
  const { Code, name } = error as Vendor
  return Code ?? name ?? ''
}

export function statusOf(error: unknown): number | undefined {
  return error instanceof Error ? (error as Vendor).$metadata?.httpStatusCode : undefined
}

/** Returns true for a refusal without an error code, such as a refused HEAD. */
export function isUnexplained(error: unknown): boolean {
  return [301, 307, 400, 401, 403].includes(statusOf(error) ?? 0) && !(codeOf(error) in meanings)
}

export function isSkewed(error: unknown): boolean {
  return meanings[codeOf(error)] === clock
}

/** Returns the error for `open` if only a change of the configuration fixes the problem. */
export function configFault(error: unknown, where: Where): StorageError | undefined {
  const meaning = meanings[codeOf(error)] ?? statusMeanings[statusOf(error) ?? 0]
  if (meaning === region) return new StorageError('INVALID_CONFIG', regionSentence(where, error as Vendor))
  if (statusOf(error) === 404) return new StorageError('INVALID_CONFIG', missingBucket(where))
  return undefined
}

function missingBucket({ bucket, endpointName }: Where): string {
  return `There is no bucket "${bucket}" at ${endpointName}: create it, or correct the bucket or the endpoint.`
}

function regionSentence({ bucket, region }: Where, error: Vendor): string {
  const actual = error.Region ?? error.$response?.headers['x-amz-bucket-region']
  const to = actual ? `is in the region ${actual}` : 'is in another region'
  return `The bucket "${bucket}" ${to}, not in ${region}: correct the region.`
}

function clockSentence({ endpointName }: Where, error: Vendor): string {
  const theirs = Date.parse(error.ServerTime ?? error.$response?.headers.date ?? '')
  const seconds = Math.round((Date.now() - theirs) / 1000)
  const many =
    Math.abs(seconds) >= 120 ? `${Math.round(Math.abs(seconds) / 60)} minutes` : `${Math.abs(seconds)} seconds`
  const off = Number.isNaN(seconds) || seconds === 0 ? 'off' : `${many} ${seconds > 0 ? 'ahead' : 'behind'}`
  return `The clock of this server is ${off}, compared with that of ${endpointName}: correct it, for example with NTP.`
}

function faulty(status: number): Meaning {
  return status < 300
    ? ['UNAVAILABLE', ({ endpointName }) => `The server at ${endpointName} is not an S3 server: check the endpoint.`]
    : ['UNAVAILABLE', ({ endpointName }) => `${endpointName} is failing (HTTP ${status}): try again later.`]
}

export function unreachable(error: Error & { code?: string }, { endpointName }: Where): StorageError {
  const message = `${endpointName} cannot be reached: ${whyUnreachable(error)}. Check the endpoint, or try again.`
  return new StorageError('UNAVAILABLE', message, { cause: error })
}
