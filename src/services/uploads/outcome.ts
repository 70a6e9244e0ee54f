/** Finds out whether an interrupted attempt to complete an upload has stored its file. */
import { createHash } from 'node:crypto'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull } from '../files/conflict.ts'
import { type ActiveUpload, pendingBytes } from './active-upload.ts'

/** Milliseconds by which the clocks of a back end and of the database may differ. */
const clockDifference = 60_000
/** Milliseconds: the coarsest time that a back end may keep. */
const timeResolution = 2000

/**
 * Returns whether an earlier attempt with an unknown outcome created the file: it has the right size and ends with the last
 * bytes. If no bytes were left to send, its modification time decides.
 */
export async function isStored(
  upload: ActiveUpload,
  location: WriteLocation,
  gathered: readonly Buffer[],
  signal: AbortSignal,
): Promise<boolean> {
  const { lease } = upload
  const { size } = lease.record
  const entry = await statOrNull(location, signal)
  if (entry?.kind !== 'file' || entry.size !== size) return false
  const { bytes, offset, size: length } = pendingBytes(upload, gathered)
  if (length > 0) {
    const { body } = await location.read(signal, { range: { offset, length } })
    const [stored, sent] = await Promise.all([digestOf(body), digestOf(bytes)])
    return stored === sent
  }
  return size === 0 || hasTimeOf(upload, entry)
}

/** Returns whether a file has the time that the upload gives to it or, without one, is not older than the upload. */
function hasTimeOf({ lease, location }: ActiveUpload, { modifiedAt }: CheckedEntry): boolean {
  const time = modifiedAt?.getTime() ?? 0
  const given = location.traits.keepsModifiedAt ? lease.record.modifiedAt : null
  if (given) return Math.abs(time - given.getTime()) <= timeResolution
  return time >= lease.record.createdAt.getTime() - clockDifference
}

async function digestOf(bytes: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of bytes) hash.update(chunk)
  return hash.digest('hex')
}
