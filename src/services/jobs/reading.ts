/** Reads whole files again, to find out their contents. */
import { createHash } from 'node:crypto'
import type { Database } from '../../db/client.ts'
import { storeRead } from '../../db/known-contents.ts'
import { fitsTable } from '../../db/written-contents.ts'
import { isSameVersion } from '../../storage/content-tracker.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { timeResolution } from '../files/copying.ts'
import { type JobRun, passingBytes } from './job-run.ts'

export interface ReadContent {
  entry: CheckedEntry
  sha256: Buffer
  /** The storage has a checksum of the file, which its bytes do not have. */
  isWrong: boolean
}

/** The checksums that back ends have and that are computed here. */
const hashNames = { md5: true, sha1: true, sha256: true }

/** Reads a file, and compares it with the checksums that the back end has of it. Returns null if it changes meanwhile. */
export async function readWhole(run: JobRun, location: ReadLocation): Promise<ReadContent | null> {
  const { signal } = run
  const onBytes = passingBytes(run, location)
  const before = await location.stat(signal)
  const { body, entry: opened } = await location.read(signal, { seen: before })
  const own = Object.entries({ ...before.checksums, ...opened.checksums }).filter(([name]) => name in hashNames)
  const hashes = new Map(['sha256', ...own.map(([name]) => name)].map(name => [name, createHash(name)]))
  for await (const chunk of body) {
    for (const hash of hashes.values()) hash.update(chunk)
    await onBytes(chunk.length)
  }
  const entry = await location.stat(signal)
  if (!isSameVersion(before, entry) || (opened.etag !== null && entry.etag !== null && opened.etag !== entry.etag)) {
    return null
  }
  const digests = new Map([...hashes].map(([name, hash]) => [name, hash.digest()]))
  const isWrong = own.some(([name, hex]) => digests.get(name)?.toString('hex') !== hex)
  const sha256 = digests.get('sha256')
  return sha256 ? { entry, sha256, isWrong } : null
}

/** Keeps the content of a file that was read just now, unless it is damaged. */
export async function noteRead(
  db: Database,
  location: ReadLocation,
  { entry, sha256, isWrong }: ReadContent,
): Promise<void> {
  const { size, modifiedAt, etag, contentTag = null } = entry
  if (isWrong || !fitsTable(location.path) || size === null || !isSettled(entry)) return
  await storeRead(db, location, { size, modifiedAt, etag, contentTag }, sha256)
}

/** Returns whether a later write cannot leave the version as it is, as within the same second where times have no fractions. */
function isSettled({
  etag,
  contentTag,
  modifiedAt,
}: Pick<CheckedEntry, 'etag' | 'contentTag' | 'modifiedAt'>): boolean {
  if (etag !== null || contentTag !== undefined) return true
  return modifiedAt !== null && Date.now() - modifiedAt.getTime() > timeResolution
}
