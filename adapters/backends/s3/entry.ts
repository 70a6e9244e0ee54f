import { ObjectKeys } from '../../bases/objects/keys.ts'
import type { ChecksumAlgorithm, Entry } from '../../contract.ts'

/** The fields that responses to HEAD, GET and listings share. */
export interface Described {
  ETag?: string | undefined
  LastModified?: Date | undefined
  ContentType?: string | undefined
  ServerSideEncryption?: string | undefined
  ChecksumType?: string | undefined
  ChecksumSHA1?: string | undefined
  ChecksumSHA256?: string | undefined
  ChecksumCRC32C?: string | undefined
}

/** The facts about an object in the response to HEAD. */
export interface Head extends Described {
  ContentLength?: number | undefined
  ContentEncoding?: string | undefined
  ContentDisposition?: string | undefined
  ContentLanguage?: string | undefined
  CacheControl?: string | undefined
  Metadata?: Record<string, string> | undefined
}

/** The type that Amazon reports for files without a type. */
export const defaultType = 'binary/octet-stream'
const noType = new Set([defaultType, 'application/octet-stream'])

export function fileEntry(name: string, fileId: string, size: number, object: Described): Entry {
  const checksums = checksumsOf(object)
  return {
    name,
    kind: 'file',
    size,
    modifiedAt: toSeconds(object.LastModified),
    etag: etagOf(object.ETag),
    mimeType: object.ContentType && !noType.has(object.ContentType) ? object.ContentType : null,
    fileId,
    ...(Object.keys(checksums).length > 0 ? { checksums } : {}),
  }
}

/** Removes the quotes. Returns null for an empty etag, as in Ceph's response to a completed upload. */
export function etagOf(quoted: string | undefined): string | null {
  return quoted?.replace(/^W\//, '').replaceAll('"', '') || null
}

/** Drops the milliseconds, which only listings have, because entries must be equal in every response. */
function toSeconds(date: Date | undefined): Date | null {
  return date ? new Date(Math.floor(date.getTime() / 1000) * 1000) : null
}

/**
 * An etag is the MD5 of the file only if the file was written in one part and not encrypted with a customer key:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html. A listing does not include that, so its entries have no MD5.
 */
function checksumsOf(object: Described): Partial<Record<ChecksumAlgorithm, string>> {
  const checksums: Partial<Record<ChecksumAlgorithm, string>> = {}
  const etag = etagOf(object.ETag)
  const isListed = object.ContentType === undefined
  const isPlain = object.ServerSideEncryption === undefined || object.ServerSideEncryption === 'AES256'
  if (etag && !isListed && isPlain && /^[0-9a-f]{32}$/.test(etag)) checksums.md5 = etag
  if (object.ChecksumType === 'COMPOSITE') return checksums
  const { ChecksumSHA1: sha1, ChecksumSHA256: sha256, ChecksumCRC32C: crc32c } = object
  for (const [algorithm, base64] of Object.entries({ sha1, sha256, crc32c }) as [ChecksumAlgorithm, string?][]) {
    if (base64 && !base64.includes('-')) checksums[algorithm] = Buffer.from(base64, 'base64').toString('hex')
  }
  return checksums
}

/**
 * The headers of a new file. `mtime` is the time in seconds, as rclone stores it: other tools show it. This adapter does not,
 * because a listing has only the time of the upload.
 */
export function headersOf({ mimeType, modifiedAt }: { mimeType?: string | undefined; modifiedAt?: Date | undefined }) {
  return {
    ...(mimeType && { ContentType: mimeType }),
    ...(modifiedAt && { Metadata: { mtime: String(modifiedAt.getTime() / 1000) } }),
  }
}

/**
 * Bytes of UTF-8. Amazon allows 1,024; one byte is for the `/` that ends the key of a folder.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
 */
const maxKeyBytes = 1023

/** Maps the paths of a provider to keys in its bucket. */
export class Keys extends ObjectKeys {
  constructor(base: string) {
    super(base, (names, key) => {
      // The host refuses these, too. Check again, so that a bug there cannot escape the prefix.
      if (!names.every(isName)) return 'The path has an empty, "." or ".." segment, or contains a NUL.'
      if (Buffer.byteLength(key) <= maxKeyBytes) return undefined
      return `The path is too long: with its prefix it can have at most ${maxKeyBytes} bytes.`
    })
  }
}

/** The prefix of the objects that test what a server supports: see probe.ts. */
export const probePrefix = '.stowage-probe-'

/** True for a name that such an object has in a listing. */
export function isProbe(name: string): boolean {
  return name.startsWith(probePrefix) && /^[0-9a-f-]{36}$/.test(name.slice(probePrefix.length))
}

/** True for a name that a StoragePath can hold. */
export function isName(name: string): boolean {
  return (
    name !== '' && name !== '.' && name !== '..' && !name.includes('/') && !name.includes('\0') && name.isWellFormed()
  )
}

/** The value of `x-amz-copy-source`. */
export function copySource(bucket: string, key: string): string {
  return encodeKey(`${bucket}/${key}`)
}

/** Encodes a key for a URL: everything except the unreserved characters (RFC 3986, section 2.3) and `/`. */
export function encodeKey(key: string): string {
  return key.split('/').map(encodeName).join('/')
}

function encodeName(name: string): string {
  return encodeURIComponent(name).replace(/[!'()*]/g, each => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Decodes a key of `EncodingType: 'url'`; undefined if it is not UTF-8. Amazon encodes a space as `+`, others as `%20`. */
export function decodeKey(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
