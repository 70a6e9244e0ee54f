import { StorageError, type StoragePath, segmentsOf } from '../../contract.ts'

/**
 * Bytes of UTF-8. Amazon allows 1,024; one byte is for the `/` that ends the key of a folder.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
 */
const maxKeyBytes = 1023

/** Maps the paths of a provider to keys in its bucket. */
export class Keys {
  /** Empty, or ending in `/`. */
  readonly base: string

  constructor(base: string) {
    this.base = base
  }

  /** Returns the key of a file. @throws INVALID_PATH, also for the root */
  file(path: StoragePath): string {
    if (path === '') throw new StorageError('INVALID_PATH', 'This cannot be done to the root folder.')
    return this.#key(path)
  }

  /** Returns the prefix of every key below a folder, which is also the key of its marker. @throws INVALID_PATH */
  folder(path: StoragePath): string {
    return path === '' ? this.base : `${this.#key(path)}/`
  }

  #key(path: StoragePath): string {
    // The host refuses these, too. Check again, so that a bug there cannot escape the prefix.
    if (segmentsOf(path).some(name => !isName(name))) {
      throw new StorageError('INVALID_PATH', 'The path has an empty, "." or ".." segment, or contains a NUL.')
    }
    const key = this.base + path
    if (Buffer.byteLength(key) > maxKeyBytes) {
      throw new StorageError(
        'INVALID_PATH',
        `The path is too long: with its prefix it can have at most ${maxKeyBytes} bytes.`,
      )
    }
    return key
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
