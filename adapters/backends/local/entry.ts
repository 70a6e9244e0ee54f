import type { BigIntStats } from 'node:fs'
import type { Entry } from '../../contract.ts'

/** Returns undefined for symbolic links, FIFOs, sockets and devices, which the provider does not serve. */
export function toEntry(name: string, stats: BigIntStats): Entry | undefined {
  // The id is the same through nested roots, bind mounts and other spellings of a name. Hard links count as one file.
  const fileId = `local:${stats.dev}:${stats.ino}`
  const modifiedAt = new Date(Number(stats.mtimeMs))
  if (stats.isDirectory())
    return { name, kind: 'directory', size: null, modifiedAt, etag: null, mimeType: null, fileId }
  if (!stats.isFile()) return undefined
  return { name, kind: 'file', size: Number(stats.size), modifiedAt, etag: etagOf(stats), mimeType: null, fileId }
}

/**
 * Includes `ctimeNs`, which only the clock can set: `cp -p`, `rsync -t` and `touch -r` set an old `mtimeNs` on other bytes.
 * Therefore the etag also changes with a rename or a chmod.
 */
function etagOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs, ctimeNs].map(part => part.toString(36)).join('-')
}
