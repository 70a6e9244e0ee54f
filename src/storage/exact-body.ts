import { type Readable, Transform } from 'node:stream'
import { fault } from './validate-entry.ts'

/**
 * The same bytes, failing where they are not `size` (null: unknown): of what a back end cut short, no other may take the
 * rest for the whole. Fails with BACK_END_FAULT, or as `body` does; whoever destroys it destroys `body`, too.
 */
export function exactBody(body: Readable, size: number | null): Readable {
  let received = 0
  const check = new Transform({
    // A stream of bytes would throw at whoever writes other things to it, where nobody catches it.
    writableObjectMode: true,
    writableHighWaterMark: 1,
    transform(chunk: unknown, _encoding, done) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      if (!(bytes instanceof Uint8Array)) return done(fault('a body of other things than bytes'))
      received += bytes.length
      done(size !== null && received > size ? fault(`more than the ${size} bytes of a file`) : null, bytes)
    },
    flush(done) {
      done(size === null || received === size ? null : fault(`${received} of the ${size} bytes of a file`))
    },
  })
  body.once('error', error => check.destroy(error))
  body.once('close', () => {
    if (!body.readableEnded) check.destroy(fault('a body that ended before its end'))
  })
  check.once('close', () => body.destroy())
  // It may fail before anybody reads it, who then finds it failed.
  check.on('error', () => {})
  return body.pipe(check)
}
