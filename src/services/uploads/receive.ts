import { addAbortSignal, type Readable } from 'node:stream'
import { detach } from '../../storage/pipe-body.ts'
import { tooLarge } from '../files/upload.ts'
import { type ActiveUpload, append } from './active-upload.ts'
import { finish } from './finish.ts'
import { BlockBudget } from './memory-budget.ts'
import { memberLimits } from './upload-limits.ts'

/**
 * Receives a body block by block: it gathers one block while it sends the one before. The start of a block that exceeds
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
