import { type Readable, Transform, type TransformCallback } from 'node:stream'
import { pipeBody } from './pipe-body.ts'
import { fault } from './validate-entry.ts'

/**
 * Returns a stream with the bytes of `body` that fails unless there are exactly `size` of them (null: unknown), so that
 * nobody mistakes a truncated file for a whole one. Fails with BACK_END_FAULT, or as `body` does. Destroying it also destroys
 * `body`.
 *
 * @param onChunk is called for each chunk. If it returns a promise, the chunk is passed on once that resolves
 */
export function exactBody(
  body: Readable,
  size: number | null,
  onChunk?: (bytes: Uint8Array) => Promise<unknown> | undefined,
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
      else if (wait) void passAfter(wait, bytes, done)
      else done(null, bytes)
    },
    flush(done) {
      done(size === null || received === size ? null : fault(`only ${received} of the ${size} bytes of a file`))
    },
  })
  check.once('close', () => body.destroy())
  return pipeBody(body, check, () => fault('a body that was closed before its end'))
}

async function passAfter(wait: Promise<unknown>, bytes: Uint8Array, done: TransformCallback): Promise<void> {
  try {
    await wait
  } catch (error) {
    return done(error instanceof Error ? error : new Error('The wait failed', { cause: error }))
  }
  done(null, bytes)
}
