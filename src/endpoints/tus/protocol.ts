/** The headers of the tus protocol, version 1.0.0: https://tus.io/protocols/resumable-upload. */
import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../errors.ts'
import { parseConflict, parseMimeType, parseModifiedAt } from '../../http/content/body-headers.ts'
import type { NewResumableDrop } from '../../services/shares/drops.ts'
import type { NewResumableUpload, UploadRecord } from '../../services/uploads/index.ts'
import { type Checksum, checksumAlgorithms } from '../../services/uploads/receive.ts'

export const version = '1.0.0'
export const extensions = [
  'creation',
  'creation-with-upload',
  'creation-defer-length',
  'termination',
  'checksum',
  'expiration',
] as const
export const bodyType = 'application/offset+octet-stream'
/** The methods that a POST to an upload can name in `X-HTTP-Method-Override`. */
export const overrides = ['PATCH', 'DELETE', 'HEAD'] as const

/** Returns the size in bytes that a creation declares, or null if the client sends it later. @throws INVALID_INPUT */
export function announcedSize(headers: IncomingHttpHeaders): number | null {
  if (headers['upload-concat'] !== undefined) {
    throw new AppError('INVALID_INPUT', 'This server does not join partial uploads: send the file as one upload.')
  }
  const size = parseBytes(headers, 'Upload-Length')
  const deferred = headers['upload-defer-length']
  if (deferred !== undefined && deferred !== '1') {
    throw new AppError('INVALID_INPUT', 'Upload-Defer-Length must be 1 or absent.')
  }
  if ((size === undefined) === (deferred === undefined)) {
    throw new AppError('INVALID_INPUT', 'Send either Upload-Length or "Upload-Defer-Length: 1".')
  }
  return size ?? null
}

/** Returns the size that a PATCH adds to an upload whose size was deferred. @throws INVALID_INPUT */
export function declaredSize(headers: IncomingHttpHeaders, { size, received }: UploadRecord): number | undefined {
  const declared = parseBytes(headers, 'Upload-Length')
  if (declared === undefined) return undefined
  if (size !== null && size !== declared) {
    throw new AppError('INVALID_INPUT', `The upload already has the length ${size}.`)
  }
  if (declared < received) {
    throw new AppError('INVALID_INPUT', `Upload-Length is less than the ${received} bytes that were received.`)
  }
  return declared
}

/** Returns the offset in bytes at which the body of a PATCH begins. @throws INVALID_INPUT */
export function requireOffset(headers: IncomingHttpHeaders): number {
  const offset = parseBytes(headers, 'Upload-Offset')
  if (offset === undefined) throw new AppError('INVALID_INPUT', 'The Upload-Offset header is missing.')
  return offset
}

/** @throws INVALID_INPUT */
export function bodyChecksum(headers: IncomingHttpHeaders): Checksum | null {
  const header = headers['upload-checksum']
  return typeof header === 'string' ? parseChecksum(header) : null
}

function parseBytes(headers: IncomingHttpHeaders, name: 'Upload-Length' | 'Upload-Offset'): number | undefined {
  const header = headers[name.toLowerCase()]
  if (header === undefined) return undefined
  const bytes = typeof header === 'string' && /^\d{1,16}$/.test(header) ? Number(header) : Number.NaN
  if (!Number.isSafeInteger(bytes)) throw new AppError('INVALID_INPUT', `${name} must be a whole number of bytes.`)
  return bytes
}

/** Parses an `Upload-Checksum` header (tus 1.0, Checksum extension): `sha1 <base64>`. @throws INVALID_INPUT */
function parseChecksum(header: string): Checksum {
  const [name, base64 = '', ...rest] = header.split(' ')
  const algorithm = checksumAlgorithms.find(known => known === name)
  if (!algorithm || base64 === '' || rest.length > 0) {
    const known = checksumAlgorithms.join(', ')
    throw new AppError(
      'INVALID_INPUT',
      `The Upload-Checksum header must be "<algorithm> <base64>", where the algorithm is one of ${known}.`,
    )
  }
  return { algorithm, digest: Buffer.from(base64, 'base64') }
}

const names = ['providerId', 'path', 'conflict', 'filetype', 'modifiedAt'] as const
type MetadataName = (typeof names)[number]

const pair = /^([\x21-\x2b\x2d-\x7e]+)(?: ([A-Za-z0-9+/]*={0,2}))?$/
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses an `Upload-Metadata` header: comma-separated pairs of a name and base64 of UTF-8. Unknown names are stored for the
 * client and otherwise ignored.
 * @throws INVALID_INPUT
 */
export function parseMetadata(header: string): Omit<NewResumableUpload, 'size'> {
  const found = parsePairs(header)
  return {
    providerId: required(found.providerId, 'providerId'),
    path: required(found.path, 'path'),
    conflict: parseConflict(found.conflict),
    mimeType: parseMimeType(found.filetype) ?? null,
    modifiedAt: parseModifiedAt(found.modifiedAt) ?? null,
    metadata: header,
  }
}

/** Parses the metadata of an upload through a share link, which decides about the provider. @throws INVALID_INPUT */
export function parseDropMetadata(header: string): Omit<NewResumableDrop, 'size'> {
  const { path, filetype, modifiedAt } = parsePairs(header)
  return {
    path: required(path, 'path'),
    mimeType: parseMimeType(filetype) ?? null,
    modifiedAt: parseModifiedAt(modifiedAt) ?? null,
    metadata: header,
  }
}

function parsePairs(header: string): Partial<Record<MetadataName, string>> {
  const found: Partial<Record<MetadataName, string>> = {}
  for (const text of header === '' ? [] : header.split(',')) {
    const [, key, base64 = ''] = pair.exec(text.trim()) ?? []
    if (key === undefined) throw new AppError('INVALID_INPUT', 'The Upload-Metadata header is malformed.')
    const name = names.find(known => known === key)
    if (name) found[name] = decode(name, base64)
  }
  return found
}

function required(value: string | undefined, name: MetadataName): string {
  if (!value) throw new AppError('INVALID_INPUT', `The Upload-Metadata header lacks "${name}".`)
  return value
}

function decode(name: MetadataName, base64: string): string {
  try {
    return utf8.decode(Buffer.from(base64, 'base64'))
  } catch (cause) {
    throw new AppError('INVALID_INPUT', `"${name}" in the Upload-Metadata header is not UTF-8.`, { cause })
  }
}
