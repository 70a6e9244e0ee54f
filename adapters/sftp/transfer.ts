/** Pipelined reads and writes: many requests are under way at once, because each waits for a response of the server. */
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { SFTPWrapper } from 'ssh2'

/** Bytes of one request. Every server takes 32 KiB. */
const pieceBytes = 32 * 1024
/** The number of requests of one transfer that are under way at once. */
const depth = 64
/** https://datatracker.ietf.org/doc/html/draft-ietf-secsh-filexfer-02#section-7 */
const endOfFile = 1

/** Yields the bytes `start` to `end - 1`, and ends early where the file does. */
export async function* receive(
  sftp: SFTPWrapper,
  handle: Buffer,
  { start, end }: { start: number; end: number },
): AsyncGenerator<Buffer, void> {
  const underWay: Promise<Buffer>[] = []
  try {
    for (let next = start; next < end || underWay.length > 0; ) {
      while (next < end && underWay.length < depth) {
        const length = Math.min(pieceBytes, end - next)
        const piece = readPiece(sftp, handle, next, length)
        // The loop below reports the error.
        piece.catch(() => {})
        underWay.push(piece)
        next += length
      }
      const bytes = await underWay.shift()
      if (!bytes || bytes.length === 0) return
      yield bytes
    }
  } finally {
    await Promise.allSettled(underWay)
  }
}

/** Returns fewer bytes only at the end of the file. */
async function readPiece(sftp: SFTPWrapper, handle: Buffer, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  for (let done = 0; ; ) {
    const count = await new Promise<number>((resolve, reject) => {
      sftp.read(handle, bytes, done, length - done, position + done, (error, count) => {
        const isEnd = error && 'code' in error && error.code === endOfFile
        if (error && !isEnd) reject(error)
        else resolve(isEnd ? 0 : count)
      })
    })
    done += count
    if (done === length || count === 0) return bytes.subarray(0, done)
  }
}

/** Writes a body from the start of a file on. */
export async function send(sftp: SFTPWrapper, handle: Buffer, body: Readable): Promise<void> {
  const write = promisify(sftp.write).bind(sftp)
  const underWay = new Set<Promise<unknown>>()
  let failure: { error: unknown } | undefined
  let position = 0
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      for (let start = 0; start < chunk.length; start += pieceBytes) {
        const length = Math.min(pieceBytes, chunk.length - start)
        const piece = write(handle, chunk, start, length, position)
          .catch(error => {
            failure ??= { error }
          })
          .finally(() => underWay.delete(piece))
        underWay.add(piece)
        position += length
        if (underWay.size >= depth) await Promise.race(underWay)
        if (failure) throw failure.error
      }
    }
  } finally {
    await Promise.all(underWay)
  }
  if (failure) throw failure.error
}
