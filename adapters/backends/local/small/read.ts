import { type BigIntStats, fstatSync, readSync } from 'node:fs'
import { toEntry } from '../entry.ts'
import type { SmallFile, SmallRead } from './jobs.ts'
import { type Descriptor, nameEntry, reopen } from './open.ts'

/** Returns null for a file that is missing, too large or being changed, and for a path that has to be walked. */
export function readSmall({ root, path, name, maxBytes }: SmallRead): SmallFile | null {
  using named = nameEntry(root, path)
  const entry = named && toEntry(name, named.stats)
  if (entry?.kind !== 'file' || named === undefined || named.stats.size > maxBytes) return null
  using file = reopen(named)
  const bytes = readWhole(file, named.stats)
  return bytes && { entry, bytes }
}

/** Returns the bytes of one version of a file, or null if the file is being changed. @param stats of the file */
export function readWhole(file: Descriptor, stats: BigIntStats): Uint8Array<ArrayBuffer> | null {
  const bytes = readAll(file, Number(stats.size))
  return bytes && isUnchanged(file, stats) ? bytes : null
}

/** Returns null if the file has become shorter. */
function readAll({ fd }: Descriptor, size: number): Uint8Array<ArrayBuffer> | null {
  const bytes = new Uint8Array(size)
  for (let position = 0; position < size; ) {
    const count = readSync(fd, bytes, position, size - position, position)
    if (count === 0) return null
    position += count
  }
  return bytes
}

/** Returns whether the bytes are those of one version: see `FileBody`. */
function isUnchanged({ fd }: Descriptor, before: BigIntStats): boolean {
  const { size, mtimeNs } = fstatSync(fd, { bigint: true })
  return size === before.size && mtimeNs === before.mtimeNs
}
