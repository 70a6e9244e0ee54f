import { StorageError, type StoragePath, segmentsOf } from '../contract.ts'

/**
 * Bytes of UTF-8. Amazon takes 1,024; one less, so that there could be a folder of the same name, whose key ends in `/`.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
 */
const maxKeyBytes = 1023

/** Where the paths of a provider lie in its bucket. */
export class Keys {
  /** Empty, or ending in `/`. */
  readonly base: string

  constructor(base: string) {
    this.base = base
  }

  /** Of a file. @throws INVALID_PATH, also for the root */
  file(path: StoragePath): string {
    if (path === '') throw new StorageError('INVALID_PATH', 'This cannot be done to the root folder.')
    return this.#key(path)
  }

  /** What every key below a folder begins with; the key of the folder's marker. @throws INVALID_PATH */
  folder(path: StoragePath): string {
    return path === '' ? this.base : `${this.#key(path)}/`
  }

  #key(path: StoragePath): string {
    // The host lets none of these through; a mistake there must not become a way out of the prefix.
    if (segmentsOf(path).some(name => !isName(name))) {
      throw new StorageError('INVALID_PATH', 'The path has an empty, "." or ".." segment, or holds a NUL.')
    }
    const key = this.base + path
    if (Buffer.byteLength(key) > maxKeyBytes) {
      throw new StorageError('INVALID_PATH', `The path is too long: with its prefix it may have ${maxKeyBytes} bytes.`)
    }
    return key
  }
}

/** What the objects begin with that find out what a server does: see probe.ts. */
export const probePrefix = '.stowage-probe-'

/** True for the folder that such an object seems to be. */
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
  return `${bucket}/${key}`.split('/').map(encodeURIComponent).join('/')
}

/** Of `EncodingType: 'url'`; undefined for bytes that are not UTF-8. Amazon encodes a space as `+`, others as `%20`. */
export function decodeKey(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
