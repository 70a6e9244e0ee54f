/** Paths, names and entries: what the provider serves, and how system calls name it. */
import { isUtf8 } from 'node:buffer'
import type { BigIntStats } from 'node:fs'
import { folderEntry } from '../../bases/errors.ts'
import { type Entry, joinSegments, StorageError, type StoragePath, segmentsOf } from '../../contract.ts'

/**
 * The folder of unfinished writes. It is hidden and refused at every level, as another provider's root may be below this
 * one.
 */
export const stagingName = '.stowage-staging'

/** NAME_MAX on Linux, in bytes. A file system with a lower limit fails with ENAMETOOLONG. */
const maxNameBytes = 255

/** Ignores case, because the file system may. Some letters are equal only as capitals, such as "s" and the long "ſ". */
export function isReserved(name: string): boolean {
  return name.length === stagingName.length && name.toUpperCase().toLowerCase() === stagingName
}

/** @throws INVALID_PATH */
export function requireSegments(path: StoragePath): string[] {
  const segments = segmentsOf(path)
  for (const segment of segments) {
    // The host refuses these, too. Check again, so that a bug there cannot escape the root.
    if (segment === '' || segment === '.' || segment === '..' || segment.includes('\0')) {
      throw new StorageError('INVALID_PATH', 'The path has an empty, "." or ".." segment, or contains a NUL.')
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

/** @throws INVALID_PATH for a text that is not the name of an entry */
export function requireName(name: string): void {
  const [segment] = requireSegments(joinSegments([name]))
  if (segment === name) return
  throw new StorageError('INVALID_PATH', 'A name is empty or contains a "/".')
}

/** @throws INVALID_PATH for the root, which has no parent */
export function splitPath(path: StoragePath): { parents: string[]; name: string } {
  const parents = requireSegments(path)
  const name = parents.pop()
  if (name === undefined) throw new StorageError('INVALID_PATH', 'This cannot be done to the root folder.')
  return { parents, name }
}

/**
 * Returns a system path to `name` in an open directory. Node has no openat(2), but Linux resolves `/proc/self/fd/<fd>` to the
 * directory itself, even after it was moved (proc_pid_fd(5)).
 *
 * The path is valid only while the handle is open. Afterwards the number may belong to another directory, so never close a
 * directory before all calls below it have settled, not even after one of them failed.
 */
export function inside(directory: { fd: number }, name: string | Buffer): string | Buffer {
  const prefix = `/proc/self/fd/${directory.fd}/`
  return typeof name === 'string' ? prefix + name : Buffer.concat([Buffer.from(prefix), name])
}

export function self(handle: { fd: number }): string {
  return `/proc/self/fd/${handle.fd}`
}

/**
 * Returns the bytes of a name that was read as Latin-1, one character per byte. This encoding keeps all bytes, costs half as
 * much as Buffers, and compares with `<` as the bytes do.
 */
export function bytesOf(latin1Name: string): Buffer {
  return Buffer.from(latin1Name, 'latin1')
}

/** Returns undefined for a name that is not UTF-8. */
export function decodeName(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined
}

/** Returns undefined for symbolic links, FIFOs, sockets and devices, which the provider does not serve. */
export function toEntry(name: string, stats: BigIntStats): Entry | undefined {
  // The id is the same through nested roots, bind mounts and other spellings of a name. Hard links count as one file.
  const fileId = `local:${stats.dev}:${stats.ino}`
  const modifiedAt = new Date(Number(stats.mtimeMs))
  if (stats.isDirectory()) return { ...folderEntry(name, fileId), modifiedAt }
  if (!stats.isFile()) return undefined
  return { name, kind: 'file', size: Number(stats.size), modifiedAt, ...tagsOf(stats), mimeType: null, fileId }
}

/**
 * `etag` includes `ctimeNs`, which only the clock can set: `cp -p`, `rsync -t` and `touch -r` set an old `mtimeNs` on other bytes.
 * Therefore it also changes with a rename or a chmod. The time in `contentTag` is rounded to milliseconds, because programs that restore
 * the time of a file keep no smaller unit.
 */
function tagsOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): { etag: string; contentTag: string } {
  const file = `${ino.toString(36)}-${size.toString(36)}`
  return {
    etag: `${file}-${mtimeNs.toString(36)}-${ctimeNs.toString(36)}`,
    contentTag: `${file}-${((mtimeNs + 500_000n) / 1_000_000n).toString(36)}`,
  }
}
