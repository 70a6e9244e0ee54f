/**
 * Appends parts to the sequence of bytes that every resumable upload is. Only the holder of the lease does this, one part after the
 * other. If it is interrupted, the next one continues where the bytes end.
 */
import { Readable } from 'node:stream'
import { bytesUpTo, findPart, forgetContent, readPartChunks, type WaitingPart } from '../../../db/uploads/parts.ts'
import { AppError } from '../../../errors.ts'
import type { ActiveUpload } from '../active-upload.ts'
import { receive } from '../receive.ts'
import { missingPart } from './missing.ts'

/** @param gathered the bytes of the part, unless they are in the database */
export async function appendPart(
  upload: ActiveUpload,
  part: WaitingPart,
  gathered: readonly Buffer[] | null,
  work: AbortSignal,
): Promise<void> {
  const { db, lease } = upload
  const { id, appendedParts } = lease.record
  const end = (await bytesUpTo(db, id, appendedParts)) + part.size
  const skip = part.size - (end - lease.record.received)
  if (skip < 0) throw new AppError('INTERNAL')
  if (skip < part.size) {
    const bytes = gathered === null ? storedBytes(upload, part, skip) : after(gathered, skip)
    await receive(upload, Readable.from(bytes, { objectMode: false }), work, work)
  }
  if (lease.record.received !== end) throw missingPart(part.number)
  await lease.save({ appendedParts: part.number })
  await forgetContent(db, id, part)
}

/** Milliseconds after which a request begins with no other part. Its client waits for the response meanwhile. */
const appendTime = 5000

/**
 * Appends the parts whose turn it is, until one is missing, another request waits for the lease, or it takes too long. Later
 * requests continue, at the latest the one that completes the upload.
 */
export async function appendWaiting(upload: ActiveUpload, work: AbortSignal): Promise<void> {
  const { db, lease } = upload
  const begin = performance.now()
  while (!lease.wanted.aborted && !work.aborted && performance.now() - begin < appendTime) {
    const next = await findPart(db, lease.record.id, lease.record.appendedParts + 1)
    if (!next || next.content === null) return
    await appendPart(upload, next, null, work)
  }
}

function storedBytes(
  { db, lease }: ActiveUpload,
  { number, content }: Pick<WaitingPart, 'number' | 'content'>,
  position: number,
): AsyncIterable<Buffer> {
  if (content === null) throw missingPart(number)
  return readPartChunks(db, { uploadId: lease.record.id, content }, position)
}

/** Yields the bytes after the first `skip` ones. */
function* after(buffers: readonly Buffer[], skip: number): Generator<Buffer, void, undefined> {
  let before = 0
  for (const bytes of buffers) {
    const rest = bytes.subarray(Math.max(0, skip - before))
    before += bytes.length
    if (rest.length > 0) yield rest
  }
}
