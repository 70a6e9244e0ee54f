import type { Failure } from '../../bases/cloud/errors.ts'
import { hasCode, isNetworkError, whyUnreachable } from '../../bases/errors.ts'
import { StorageError, type StorageErrorCode } from '../../contract.ts'
import type { AzureSettings } from './config.ts'

type Meaning = readonly [StorageErrorCode, string | ((settings: AzureSettings) => string)]

/** A refused request. */
export interface Refusal {
  status: number
  /** The header `x-ms-error-code`; empty where the response has none. */
  code: string
  /** The header `x-ms-request-id`, by which Microsoft's support finds the request. */
  requestId: string
  /** Milliseconds. */
  retryAfterMs: number | undefined
  /** The number of times that the request was sent. */
  attempts: number
}

const nothing: Meaning = ['NOT_FOUND', 'There is nothing at this path.']
const exists: Meaning = ['ALREADY_EXISTS', 'There is something at this path already.']
const changed: Meaning = ['PRECONDITION_FAILED', 'The file has changed since.']
const busy: Meaning = ['RATE_LIMITED', 'The storage account gets too many requests: wait a little, then try again.']
const again: Meaning = ['UNAVAILABLE', 'Another operation on this path was running: try again.']
const badName: Meaning = ['INVALID_PATH', 'Azure cannot store such a name.']
const tooLarge: Meaning = ['QUOTA_EXCEEDED', 'The file is larger than Azure can store.']
const full: Meaning = ['QUOTA_EXCEEDED', 'The storage account is full: free some space, or raise its limit.']
const damaged: Meaning = ['UNAVAILABLE', 'The bytes were damaged on their way: send the file again.']
const lostUpload: Meaning = ['NOT_FOUND', 'The upload no longer exists: it was completed or canceled. Begin again.']
const otherKind: Meaning = ['PERMISSION_DENIED', 'This is not a block blob: change it with the program that made it.']
const locked: Meaning = ['IN_USE', 'Another program has a lease on this file: end the lease, then try again.']
const immutable: Meaning = ['PERMISSION_DENIED', 'A policy or a legal hold of the container keeps this file unchanged.']
const archived: Meaning = ['PERMISSION_DENIED', 'The file is archived: move it to another access tier at Azure first.']
const isFolder: Meaning = ['NOT_A_FILE', 'There is a folder at this path.']
const credentials: Meaning = ['UNAUTHORIZED', credentialSentence]
const container: Meaning = ['UNAVAILABLE', missingContainer]
const denied: Meaning = ['PERMISSION_DENIED', deniedSentence]
const closedNetwork: Meaning = [
  'PERMISSION_DENIED',
  ({ account }) =>
    `The account "${account}" does not accept this: check its network rules, and what the credentials allow.`,
]

/**
 * Keys are error codes: https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes, blob-service-error-codes
 * and, for hierarchical namespaces, datalakestoragegen2/path/create.
 */
const meanings: Record<string, Meaning> = {
  BlobNotFound: nothing,
  ResourceNotFound: nothing,
  PathNotFound: nothing,
  SourcePathNotFound: nothing,
  BlobAlreadyExists: exists,
  ResourceAlreadyExists: exists,
  PathAlreadyExists: exists,
  UnauthorizedBlobOverwrite: denied,
  ConditionNotMet: changed,
  TargetConditionNotMet: changed,
  SourceConditionNotMet: changed,
  InvalidRange: ['RANGE_NOT_SATISFIABLE', 'The range begins past the end of the file.'],
  DirectoryNotEmpty: ['NOT_EMPTY', 'The folder is not empty.'],
  ResourceTypeMismatch: isFolder,
  PathConflict: isFolder,
  AuthenticationFailed: credentials,
  NoAuthenticationInformation: credentials,
  InvalidAuthenticationInfo: credentials,
  KeyBasedAuthenticationNotPermitted: [
    'UNAUTHORIZED',
    ({ account }) => `The account "${account}" allows no keys: choose an application or a person for the access.`,
  ],
  AuthorizationFailure: closedNetwork,
  AuthorizationSourceIPMismatch: closedNetwork,
  AuthorizationProtocolMismatch: closedNetwork,
  AuthorizationPermissionMismatch: denied,
  AuthorizationResourceTypeMismatch: denied,
  AuthorizationServiceMismatch: denied,
  InsufficientAccountPermissions: denied,
  PublicAccessNotPermitted: denied,
  AccountIsDisabled: [
    'PERMISSION_DENIED',
    ({ account }) => `The account "${account}" is disabled: enable it at Azure.`,
  ],
  ContainerNotFound: container,
  FilesystemNotFound: container,
  ContainerBeingDeleted: container,
  ContainerDisabled: container,
  FilesystemBeingDeleted: container,
  AccountBeingCreated: ['UNAVAILABLE', 'The storage account is being created: try again later.'],
  ServerBusy: busy,
  TooManyRequests: busy,
  PendingCopyOperation: again,
  NoPendingCopyOperation: again,
  BlobOverwritten: again,
  SourcePathIsBeingDeleted: again,
  DestinationPathIsBeingDeleted: again,
  LeaseIdMissing: locked,
  LeaseAlreadyPresent: locked,
  LeaseIdMismatchWithBlobOperation: locked,
  LeaseIdMismatchWithContainerOperation: locked,
  LeaseIsBreakingAndCannotBeAcquired: locked,
  LeaseLost: locked,
  BlobImmutableDueToPolicy: immutable,
  BlobImmutableDueToLegalHold: immutable,
  BlobArchived: archived,
  BlobBeingRehydrated: archived,
  SnapshotsPresent: ['PERMISSION_DENIED', 'The file has snapshots: delete them at Azure first.'],
  SnapshotOperationRateExceeded: busy,
  InvalidBlobType: otherKind,
  BlobOperationNotSupported: otherKind,
  FeatureVersionMismatch: otherKind,
  BlobUsesCustomerSpecifiedEncryption: [
    'PERMISSION_DENIED',
    'The file is encrypted with a key that Azure does not keep: read it with the program that made it.',
  ],
  RequestBodyTooLarge: tooLarge,
  BlockListTooLong: tooLarge,
  BlockCountExceedsLimit: tooLarge,
  InvalidBlobOrBlock: lostUpload,
  InvalidBlockId: lostUpload,
  InvalidBlockList: lostUpload,
  Md5Mismatch: damaged,
  Crc64Mismatch: damaged,
  InvalidResourceName: badName,
  InvalidUri: badName,
  InvalidSourceUri: badName,
  InvalidRenameSourcePath: badName,
  InvalidDestinationPath: badName,
  OutOfRangeInput: badName,
}

/** The errors of responses without a code. */
const statusMeanings: Record<number, Meaning> = {
  401: credentials,
  403: denied,
  404: nothing,
  409: again,
  412: changed,
  413: tooLarge,
  416: ['RANGE_NOT_SATISFIABLE', 'The range begins past the end of the file.'],
  429: busy,
  507: full,
}

/** Returns the error for a refused request. */
export function refused(refusal: Refusal, settings: AzureSettings): StorageError {
  const { status, code, retryAfterMs } = refusal
  const isBusy = status === 503 && retryAfterMs !== undefined
  const [errorCode, sentence] = meanings[code] ?? (isBusy ? busy : (statusMeanings[status] ?? faulty(status, settings)))
  const message = typeof sentence === 'string' ? sentence : sentence(settings)
  const cause = Object.assign(new Error(`HTTP ${status} ${code}`.trim()), refusal)
  return new StorageError(errorCode, message, { cause, retryAfterMs })
}

/** Converts errors of the network. Returns others unchanged: an abort, or a bug. */
export function unreached(error: unknown, settings: AzureSettings): unknown {
  if (!(error instanceof Error) || error.name === 'StorageError' || error.name === 'AbortError') return error
  return isNetworkError(error) ? unreachable(error, settings) : error
}

export function unreachable(error: Error & { code?: string }, { endpoint }: AzureSettings): StorageError {
  const message = `${endpoint.host} cannot be reached: ${whyUnreachable(error)}. Check the account and the endpoint, or try again.`
  return new StorageError('UNAVAILABLE', message, { cause: error })
}

/** Returns how the back end refused a request; undefined for other errors. */
export function refusalOf(error: unknown): Refusal | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'requestId' in cause ? (cause as Error & Refusal) : undefined
}

/** Describes an error after which the request can be sent again, with its code as the reason; undefined for other errors. */
export function failureOf(error: unknown): Failure | undefined {
  if (!hasCode(error, 'UNAVAILABLE', 'RATE_LIMITED', 'UNAUTHORIZED')) return undefined
  const { code: reason, retryAfterMs, cause } = error as StorageError & { cause: Failure['cause'] }
  // A host that does not exist is a mistake in the configuration.
  if (cause?.code === 'ENOTFOUND') return undefined
  return { status: refusalOf(error)?.status, reason, retryAfterMs, cause }
}

export function missingContainer({ account, container }: AzureSettings): string {
  return `The account "${account}" has no container "${container}": correct the name, or create the container.`
}

function deniedSentence({ container, credentials }: AzureSettings): string {
  const where = `in the container "${container}"`
  switch (credentials.kind) {
    case 'sas':
      return `The shared access signature does not allow this ${where}: make one with the permissions racwdl.`
    case 'application':
      return `The application is not allowed to do this ${where}: give it the role "Storage Blob Data Contributor".`
    case 'person':
      return `You are not allowed to do this ${where}: ask for the role "Storage Blob Data Contributor".`
    case 'key':
      return `The account does not allow this ${where}.`
  }
}

function credentialSentence({ account, credentials }: AzureSettings): string {
  switch (credentials.kind) {
    case 'sas':
      return 'The shared access signature has expired or is not valid for this container: enter a new one.'
    case 'key':
      return `The key is not one of the account "${account}": copy it again from "Access keys".`
    default:
      return `The account "${account}" does not accept the tokens of this directory: check the directory ID.`
  }
}

function faulty(status: number, { endpoint }: AzureSettings): Meaning {
  return status < 500
    ? ['UNAVAILABLE', `The server at ${endpoint.host} refused a request (HTTP ${status}): check the endpoint.`]
    : ['UNAVAILABLE', `${endpoint.host} is failing (HTTP ${status}): try again later.`]
}
