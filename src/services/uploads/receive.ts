import { addAbortSignal, PassThrough, type Readable } from 'node:stream'
import { AppError } from '../../errors.ts'
import { tooLarge } from '../files/upload.ts'
import { type ActiveUpload, append } from './active-upload.ts'
import { finish } from './finish.ts'
import { BlockBudget } from './memory-budget.ts'
import { memberLimits } from './upload-limits.ts'

/**
 * Takes bytes in, a block at a time: while one is on its way, the next is gathered. Where it is longer than there is memory
 * for, its beginning waits in the database. What has come when the body breaks off is kept; the file is made visible with
 * its last byte.
 *
 * @param work ends what is done at the back end @param stop ends the body
 */
export async function receive(
  upload: ActiveUpload,
  body: Readable,
  work: AbortSignal,
  stop: AbortSignal,
): Promise<void> {
  const { lease, location, maxBytes } = upload
  const { size, block, received, appended, finishing } = lease.record
  // What is held of an upload that began when its back end could not hold any goes there whole. So does what comes after a
  // finish whose end nobody saw: the file may be there, and then there is nothing to add to.
  const resumable = finishing || received - appended > block ? null : location.resumable
  const limit = Math.min(size ?? maxBytes, maxBytes)
  using share = new BlockBudget()
  let total = received
  let gathered: Buffer[] = []
  let gatheredBytes = 0
  let room = resumable ? block - (received - appended) : block
  let writing: Promise<void> = Promise.resolve()

  const chunks = detach(body)

  const gather = (bytes: Buffer) => {
    gathered.push(bytes)
    gatheredBytes += bytes.length
    room -= bytes.length
  }

  const pass = async (keep: (bytes: readonly Buffer[]) => Promise<void>) => {
    await writing
    const bytes = gathered
    gathered = []
    gatheredBytes = 0
    writing = keep(bytes)
    // At once: the next chunk may be a long time coming.
    writing.catch(() => chunks.destroy())
  }
  const setAside = () => pass(bytes => hold(upload, bytes))
  const keepBlock = async () => {
    room = block
    await (resumable ? pass(bytes => append(upload, bytes, work)) : setAside())
  }

  let broken: { error: unknown } | undefined
  try {
    for await (const chunk of addAbortSignal(stop, chunks)) {
      let rest: Buffer = chunk
      total += rest.length
      if (total > limit) throw tooLarge(limit)
      while (rest.length > room) {
        const length = room
        gather(rest.subarray(0, length))
        rest = rest.subarray(length)
        await keepBlock()
      }
      gather(rest)
      // The end of a file whose size is known is appended with the finish.
      if (total === size) continue
      if (room === 0) await keepBlock()
      else if (gatheredBytes >= share.bytes) await setAside()
    }
  } catch (error) {
    if (total > limit) gathered = []
    broken = { error: stop.aborted ? stop.reason : error }
  }
  await writing
  if (total === size) await finish(upload, gathered, work)
  else if (gathered.length > 0) {
    if (resumable?.partSize === 1) await append(upload, gathered, work)
    else await hold(upload, gathered)
  }
  if (broken && total !== size) throw broken.error
}

/** Keeps here what the back end cannot take yet. @throws TOO_MANY_UPLOADS, UPLOAD_LOCKED */
async function hold({ lease }: ActiveUpload, gathered: readonly Buffer[]): Promise<void> {
  const { received } = lease.record
  const bytes = Buffer.concat(gathered)
  await lease.save({ received: received + bytes.length, chunk: { position: received, bytes, limits: memberLimits } })
}

/** The same bytes; whoever ends it leaves the request as it is, so that it can be answered. */
export function detach(body: Readable): Readable {
  const chunks = new PassThrough()
  // It may fail before anybody reads it, who then finds it failed.
  chunks.on('error', () => {})
  body.once('error', error => chunks.destroy(error))
  body.once('close', () => {
    if (!body.readableEnded) chunks.destroy(new AppError('INCOMPLETE_BODY'))
  })
  chunks.once('close', () => {
    if (!body.readableEnded) body.unpipe(chunks)
  })
  return body.pipe(chunks)
}
