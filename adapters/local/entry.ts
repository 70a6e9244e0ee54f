import type { BigIntStats } from 'node:fs'
import type { Entry } from '../contract.ts'

/** Undefined for what is neither file nor directory: symbolic links, FIFOs, sockets and devices are not served. */
export function toEntry(name: string, stats: BigIntStats): Entry | undefined {
  // The same through nested roots, bind mounts and other spellings of a name; hard links count as one file.
  const fileId = `local:${stats.dev}:${stats.ino}`
  const modifiedAt = new Date(Number(stats.mtimeMs))
  if (stats.isDirectory())
    return { name, kind: 'directory', size: null, modifiedAt, etag: null, mimeType: null, fileId }
  if (!stats.isFile()) return undefined
  return { name, kind: 'file', size: Number(stats.size), modifiedAt, etag: etagOf(stats), mimeType: null, fileId }
}

/**
 * `ctimeNs` is in it because nothing but the clock sets it: `cp -p`, `rsync -t` and `touch -r` put an old `mtimeNs` back
 * on other bytes. The price is an etag that also changes with a rename or a chmod.
 */
function etagOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs, ctimeNs].map(part => part.toString(36)).join('-')
}
