/** Streams of file content that a reader can end without closing the request, and that fail unless they are complete. */
import { PassThrough, type Readable, Transform } from 'node:stream'
import { AppError } from '../errors.ts'
import { settle } from '../lib/settle.ts'
import { fault } from './validate-entry.ts'

/**
 * Pipes a body into a stream, which fails if the body fails or is closed before its end. It also checks whether the body has
 * already failed, because such a body emits no more events and the stream would wait forever.
 * @param closed returns the error for a body that was closed before its end
 */
function pipeBody<T extends Transform>(body: Readable, into: T, closed: () => Error): T {
  // Without a listener, an error before the first read would crash the process. The reader still sees it.
  into.on('error', () => {})
  if (body.destroyed || body.readableEnded) return into.destroy(body.errored ?? closed())
  body.once('error', error => into.destroy(error))
  body.once('close', () => {
    if (!body.readableEnded) into.destroy(closed())
  })
  return body.pipe(into)
}

/**
 * Pipes a request body into a stream that can be destroyed without closing the request, so that a response can follow.
 * @param chunks the stream to pipe into. Default: a stream that passes the bytes on unchanged
 */
export function detach(body: Readable, chunks: Transform = new PassThrough()): Readable {
  chunks.once('close', () => {
    if (!body.readableEnded) body.unpipe(chunks)
  })
  return pipeBody(body, chunks, () => new AppError('INCOMPLETE_BODY'))
}

/**
 * Returns a stream with the bytes of `body` that fails unless there are exactly `size` of them (null: unknown), so that
 * nobody mistakes a truncated file for a whole one. Fails with BACK_END_FAULT, or as `body` does. Destroying it also destroys
 * `body`.
 *
 * @param onChunk is called for each chunk. If it returns a promise, the chunk is passed on once that resolves
 * @param onEnd is called after the last chunk and before the end is passed on. If it rejects, the stream fails
 */
export function exactBody(
  body: Readable,
  size: number | null,
  onChunk?: (bytes: Uint8Array) => Promise<unknown> | undefined,
  onEnd?: () => Promise<void>,
): Readable {
  let received = 0
  const check = new Transform({
    // In object mode, `transform` can report values that are not bytes. A stream of bytes would throw an uncaught error.
    writableObjectMode: true,
    writableHighWaterMark: 1,
    transform(chunk: unknown, _encoding, done) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      if (!(bytes instanceof Uint8Array)) return done(fault('a body with chunks that are not bytes'))
      received += bytes.length
      const wait = onChunk?.(bytes)
      if (size !== null && received > size) done(fault(`more than the ${size} bytes of a file`))
      else if (wait) void settle(wait, error => done(error, bytes))
      else done(null, bytes)
    },
    flush(done) {
      if (size !== null && received !== size) done(fault(`only ${received} of the ${size} bytes of a file`))
      else if (onEnd) void settle(onEnd(), done)
      else done()
    },
  })
  check.once('close', () => body.destroy())
  return pipeBody(body, check, () => fault('a body that was closed before its end'))
}
