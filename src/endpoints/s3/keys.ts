/** Keys of objects, which are paths without the first "/". A key that ends in "/" is a folder. */
import { S3Error } from './failure.ts'

/** Bytes of UTF-8. */
const maxKeyBytes = 1024

export interface ObjectPath {
  /** Absolute within the provider, not parsed yet. */
  path: string
  isFolder: boolean
}

/** @throws S3Error */
export function parseKey(key: string): ObjectPath {
  requireKeyLength(Buffer.byteLength(key))
  const isFolder = key.endsWith('/')
  return { path: `/${isFolder ? key.slice(0, -1) : key}`, isFolder }
}

/** @throws S3Error if a key of so many bytes is too long */
export function requireKeyLength(bytes: number): void {
  if (bytes > maxKeyBytes) throw new S3Error('KeyTooLongError', `A key can have at most ${maxKeyBytes} bytes.`)
}
