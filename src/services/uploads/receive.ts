/** Receives the bytes of an upload: verifies their checksum, and writes them to the back end in blocks. */
import { createHash } from 'node:crypto'
import { addAbortSignal, Readable } from 'node:stream'
import { AppError } from '../../errors.ts'
import type { BudgetShare } from '../../lib/byte-budget.ts'
import { detach } from '../../storage/body-streams.ts'
import { GrowingReservation } from '../../storage/quota-guard.ts'
import { tooLarge } from '../files/upload.ts'
import { type ActiveUpload, append } from './active-upload.ts'
import { finish } from './finish.ts'
import { BlockBudget, memberLimits } from './limits.ts'

/**
 * Receives a body block by block: it gathers one block while it sends the previous one. The start of a block that exceeds
 * the memory budget waits in the database. Bytes received before the body breaks off are kept. The last byte makes the
 * file visible.
 *
 * @param work cancels the work at the back end @param stop ends the body
 */
export async function receive(
  upload: ActiveUpload,
  body: Readable,
  work: AbortSignal,
  stop: AbortSignal,
): Promise<void> {
  const { lease, location, maxBytes } = upload
  const { size, block, received, appended, finishing } = lease.record
  // More than a block waits in the database if the back end did not support resuming when the upload began: such a file is
  // sent whole. So is one whose finish had an unknown outcome, because the back end may have nothing left to append to.
  const resumable = finishing || received - appended > block ? null : location.resumable
  const limit = Math.min(size ?? maxBytes, maxBytes)
  using share = new BlockBudget()
  const reach = (bytes: number) => location.reserve({ uploadId: lease.record.id, bytes, adds: false })
  // The creation of an upload of a known size has reserved it, and each part reserves its own.
  const reservation = size === null && !lease.record.isMultipart ? new GrowingReservation(reach, received) : null
  let total = received
  let gathered: Buffer[] = []
  let gatheredBytes = 0
  let space = resumable ? block - (received - appended) : block
  let writing: Promise<void> = Promise.resolve()

  const chunks = detach(body)

  const gather = (bytes: Buffer) => {
    gathered.push(bytes)
    gatheredBytes += bytes.length
    space -= bytes.length
  }

  const flush = async (store: (bytes: readonly Buffer[]) => Promise<void>) => {
    await writing
    const bytes = gathered
    gathered = []
    gatheredBytes = 0
    writing = store(bytes)
    // Stop reading at once, because the next chunk may take long to arrive.
    writing.catch(() => chunks.destroy())
  }
  const spill = () => flush(bytes => storeChunk(upload, bytes))
  const flushBlock = async () => {
    space = block
    await (resumable ? flush(bytes => append(upload, bytes, work)) : spill())
  }

  let failure: { error: unknown } | undefined
  try {
    for await (const chunk of addAbortSignal(stop, chunks)) {
      let rest: Buffer = chunk
      total += rest.length
      if (total > limit) throw tooLarge(limit)
      await reservation?.add(rest.length)
      while (rest.length > space) {
        const length = space
        gather(rest.subarray(0, length))
        rest = rest.subarray(length)
        await flushBlock()
      }
      gather(rest)
      // `finish` appends the last bytes.
      if (total === size) continue
      if (space === 0) await flushBlock()
      else if (gatheredBytes >= share.bytes) await spill()
    }
  } catch (error) {
    if (total > limit) gathered = []
    failure = { error: stop.aborted ? stop.reason : error }
  }
  await writing
  if (total === size) await finish(upload, gathered, work)
  else if (gathered.length > 0) {
    if (resumable?.partSize === 1) await append(upload, gathered, work)
    else await storeChunk(upload, gathered)
  }
  if (failure && total !== size) throw failure.error
}

/** Stores bytes in the database that the back end cannot take yet. @throws TOO_MANY_UPLOADS, UPLOAD_LOCKED */
async function storeChunk({ lease }: ActiveUpload, gathered: readonly Buffer[]): Promise<void> {
  const { received } = lease.record
  const bytes = Buffer.concat(gathered)
  await lease.save({ received: received + bytes.length, chunk: { position: received, bytes, limits: memberLimits } })
}

export const checksumAlgorithms = ['sha1', 'sha256', 'sha512', 'md5'] as const

/** The checksum that the body of a request must have. */
export interface Checksum {
  algorithm: (typeof checksumAlgorithms)[number]
  digest: Buffer
}

/** The maximum size of a body with a checksum, because it is buffered until the checksum is verified. */
const maxBytes = 16 * 1024 * 1024

/**
 * Buffers a body and returns its bytes if the checksum matches.
 * @param buffer accounts for the memory @param stop cancels reading @throws TOO_LARGE, CHECKSUM_MISMATCH, UNAVAILABLE, the signal's reason
 */
export async function verifyChecksum(
  body: Readable,
  { algorithm, digest }: Checksum,
  buffer: BudgetShare,
  stop: AbortSignal,
): Promise<Readable> {
  const hash = createHash(algorithm)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of addAbortSignal(stop, detach(body))) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new AppError('TOO_LARGE', `A request with a checksum has at most ${maxBytes} bytes.`)
      if (!buffer.tryTake(chunk.length)) throw tooManyChecksums()
      hash.update(chunk)
      chunks.push(chunk)
    }
  } catch (error) {
    throw stop.aborted ? stop.reason : error
  }
  if (!hash.digest().equals(digest)) {
    throw new AppError('CHECKSUM_MISMATCH', 'The bytes do not match the Upload-Checksum: send them again.')
  }
  return Readable.from(chunks, { objectMode: false })
}

function tooManyChecksums(): AppError {
  return new AppError('UNAVAILABLE', 'Too many uploads with checksums are in progress: try again in a few seconds.')
}
