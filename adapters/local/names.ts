import { isUtf8 } from 'node:buffer'
import type { FileHandle } from 'node:fs/promises'
import { StorageError, type StoragePath, segmentsOf } from '../contract.ts'

/** Holds unfinished writes. Hidden and refused at every level, as another provider's root may lie below this one's. */
export const stagingName = '.stowage-staging'

/** NAME_MAX of every Linux file system, in bytes; those with less answer ENAMETOOLONG themselves. */
const maxNameBytes = 255

/** Whatever its case: the disk may not tell one case from the other. */
export function isReserved(name: string): boolean {
  return name.length === stagingName.length && name.toLowerCase() === stagingName
}

/** @throws INVALID_PATH */
export function requireSegments(path: StoragePath): string[] {
  const segments = segmentsOf(path)
  for (const segment of segments) {
    // The host lets none of these through; a mistake there must not become a way out of the root.
    if (segment === '' || segment === '.' || segment === '..' || segment.includes('\0')) {
      throw new StorageError('INVALID_PATH', 'The path has an empty, "." or ".." segment, or holds a NUL.')
    }
    if (isReserved(segment)) {
      throw new StorageError('INVALID_PATH', `The name ${stagingName} is reserved for unfinished uploads.`)
    }
    if (Buffer.byteLength(segment) > maxNameBytes) {
      throw new StorageError('INVALID_PATH', `A name on this path has more than ${maxNameBytes} bytes.`)
    }
  }
  return segments
}

/** @throws INVALID_PATH for the root, which has no parent */
export function splitPath(path: StoragePath): { parents: string[]; name: string } {
  const parents = requireSegments(path)
  const name = parents.pop()
  if (name === undefined) throw new StorageError('INVALID_PATH', 'This cannot be done to the root folder.')
  return { parents, name }
}

/**
 * A system path to `name` in an open directory: Node has no openat(2), and Linux resolves `/proc/self/fd/<fd>` to the
 * directory itself, wherever it has been moved meanwhile (proc_pid_fd(5)).
 *
 * Good only while the handle is open: afterwards the number may belong to another directory. So nobody may close a
 * directory while a call below it is still under way, not even after another one has failed.
 */
export function inside(directory: FileHandle, name: string | Buffer): string | Buffer {
  const prefix = `/proc/self/fd/${directory.fd}/`
  return typeof name === 'string' ? prefix + name : Buffer.concat([Buffer.from(prefix), name])
}

export function self(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`
}

/**
 * Directory entries are read as Latin-1, one character per byte: it loses nothing, whatever the bytes are, costs half
 * of what Buffers cost, and compares (with `<`) as the bytes do.
 */
export function bytesOf(latin1Name: string): Buffer {
  return Buffer.from(latin1Name, 'latin1')
}

/** Undefined where the name is not UTF-8. */
export function decodeName(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined
}
