/**
 * The code that several adapters share: errors, limits, retries, HTTP with streams, and the state of uploads. It
 * turns the responses of back ends into results of the contract. `cloud/`, `objects/` and `plain/` make complete providers of a few
 * requests.
 *
 * This file has the errors that adapters report in the same words, and finds out why a server cannot be reached.
 */
import { type ByteRange, type Entry, StorageError, type StorageErrorCode } from '../contract.ts'

/** Not by `instanceof`, as two copies of the contract may be loaded. */
export function hasCode(error: unknown, ...codes: readonly StorageErrorCode[]): boolean {
  const isStorageError = error instanceof Error && error.name === 'StorageError' && 'code' in error
  return isStorageError && codes.some(code => code === error.code)
}

export const notFound = (cause?: unknown) => new StorageError('NOT_FOUND', 'There is nothing at this path.', { cause })
export const alreadyExists = (cause?: unknown) =>
  new StorageError('ALREADY_EXISTS', 'There is something at this path already.', { cause })
export const notAFile = (cause?: unknown) =>
  new StorageError('NOT_A_FILE', 'There is a folder at this path.', { cause })
/** For a path with a parent that is a file. */
export const notADirectory = () => new StorageError('NOT_A_DIRECTORY', 'Something on this path is not a folder.')
/** For the path of a file that is used as that of a folder. */
export const notAFolder = (cause?: unknown) =>
  new StorageError('NOT_A_DIRECTORY', 'There is a file at this path, not a folder.', { cause })
export const notEmpty = () => new StorageError('NOT_EMPTY', 'The folder is not empty.')
export const intoItself = () => new StorageError('INVALID_PATH', 'A folder cannot be moved into itself.')
export const rootIsFixed = () => new StorageError('INVALID_PATH', 'The root folder cannot be moved or deleted.')
export const changed = () => new StorageError('PRECONDITION_FAILED', 'The file has changed since.')
export const noVersion = (cause?: unknown) => new StorageError('NOT_FOUND', 'There is no such version.', { cause })
export const uploadNotFound = (cause?: unknown) =>
  new StorageError('NOT_FOUND', 'There is no such upload: begin again.', { cause })

/** @throws PRECONDITION_FAILED where the bytes of a call do not follow those that the upload has */
export function requireOffset(offset: number, received: number): void {
  if (offset === received) return
  throw new StorageError('PRECONDITION_FAILED', `The upload has ${received} bytes: continue from there.`)
}

/** @throws UNAVAILABLE where a body had another size than announced */
export function requireBytes(bytes: number, size: number): void {
  if (bytes !== size) throw new StorageError('UNAVAILABLE', `${bytes} of ${size} bytes arrived: send them again.`)
}

/** Returns the positions of a range in a file; `end` is exclusive. @throws RANGE_NOT_SATISFIABLE */
export function positionsOf(size: number, range: ByteRange | undefined): { start: number; end: number } {
  if (!range) return { start: 0, end: size }
  if (range.offset >= size) {
    throw new StorageError('RANGE_NOT_SATISFIABLE', `The range begins past the end: the file has ${size} bytes.`)
  }
  return { start: range.offset, end: Math.min(size, range.offset + (range.length ?? size)) }
}

/** Returns the header of that name. */
export function rangeHeader({ offset, length }: ByteRange): string {
  // Servers do not parse a number that is larger than the largest safe integer.
  const last = length === undefined ? Number.POSITIVE_INFINITY : offset + length - 1
  return `bytes=${offset}-${last <= Number.MAX_SAFE_INTEGER ? last : ''}`
}

/** The entry of a folder in a back end that stores nothing else about folders. */
export function folderEntry(name: string, fileId: string): Entry {
  return { name, kind: 'directory', size: null, modifiedAt: null, etag: null, mimeType: null, fileId }
}

const reasons: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ERR_CLOSED_ADDRESS: 'its address is closed to providers',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name could not be looked up',
  EHOSTUNREACH: 'no network route leads to it',
  ENETUNREACH: 'no network route leads to it',
  ECONNRESET: 'it closed the connection',
  EPIPE: 'it closed the connection',
  ETIMEDOUT: 'it did not respond in time',
  EPROTO: 'it does not speak TLS, or this server does not speak its version',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS there',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ERR_TLS_CERT_FINGERPRINT: 'its certificate has another fingerprint than the configuration',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not signed by an authority that this server trusts',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not signed by an authority that this server trusts',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not signed by an authority that this server trusts',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not signed by an authority that this server trusts',
}

/** Error codes of sockets, TLS and Node's HTTP parser. `ERR_INVALID_...` is a bug and does not match. */
const networkCode = /^E[A-Z]{3,}$|^EAI_|^ERR_(?:SSL|TLS)_|^ERR_CLOSED_ADDRESS$|^HPE_|CERT|SIGNATURE$/

export function isNetworkError({ code, name }: { code?: unknown; name: string }): boolean {
  return name === 'TimeoutError' || (typeof code === 'string' && networkCode.test(code))
}

/** Returns the second half of a sentence: "it closed the connection". */
export function whyUnreachable({ code, name }: { code?: unknown; name: string }): string {
  const text = typeof code === 'string' ? code : ''
  // The SDK of S3 reports every broken connection as a timeout.
  const known = reasons[text] ?? (name === 'TimeoutError' ? reasons.ETIMEDOUT : undefined)
  return known ?? (text.startsWith('HPE_') ? 'it does not speak HTTP' : 'the connection failed')
}

/** Makes the error for a server that cannot be reached. */
export function unreachable(
  error: Error & { code?: unknown },
  { host, port }: { host: string; port: number },
): StorageError {
  const message = `${host}:${port} cannot be reached: ${whyUnreachable(error)}. Check the server and the port, or try again.`
  return new StorageError('UNAVAILABLE', message, { cause: error })
}
