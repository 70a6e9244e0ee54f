import { type Readable, Transform } from 'node:stream'
import { fault } from './validate-entry.ts'

/**
 * Returns a stream with the bytes of `body` that fails unless there are exactly `size` of them (null: unknown), so that
 * nobody mistakes a truncated file for a whole one. Fails with BACK_END_FAULT, or as `body` does. Destroying it also destroys
 * `body`.
 *
 * @param onBytes is called for every chunk, with its length in bytes
 */
export function exactBody(body: Readable, size: number | null, onBytes?: (bytes: number) => void): Readable {
  let received = 0
  const check = new Transform({
    // In object mode, `transform` can report values that are not bytes. A stream of bytes would throw an uncaught error.
    writableObjectMode: true,
    writableHighWaterMark: 1,
    transform(chunk: unknown, _encoding, done) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      if (!(bytes instanceof Uint8Array)) return done(fault('a body with chunks that are not bytes'))
      received += bytes.length
      onBytes?.(bytes.length)
      done(size !== null && received > size ? fault(`more than the ${size} bytes of a file`) : null, bytes)
    },
    flush(done) {
      done(size === null || received === size ? null : fault(`only ${received} of the ${size} bytes of a file`))
    },
  })
  body.once('error', error => check.destroy(error))
  body.once('close', () => {
    if (!body.readableEnded) check.destroy(fault('a body that was closed before its end'))
  })
  check.once('close', () => body.destroy())
  // The body may fail before it is read. The first read then reports the error.
  check.on('error', () => {})
  return body.pipe(check)
}
