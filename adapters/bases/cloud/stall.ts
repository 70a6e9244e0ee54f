import { PassThrough, pipeline, type Readable } from 'node:stream'
import { StorageError } from '../../contract.ts'

/**
 * Ends a download that receives nothing for `stall` milliseconds, unless the reader is the slow side.
 * @param vendor the vendor's name in the message
 */
export function withStallTimeout(source: Readable, stall: number, vendor: string): Readable {
  let moved = false
  const body = new PassThrough({
    transform(chunk, _encoding, done) {
      moved = true
      done(null, chunk)
    },
  })
  const timer = setInterval(() => {
    const isReaderSlow = body.readableLength > 0
    if (!moved && !isReaderSlow)
      source.destroy(new StorageError('UNAVAILABLE', `${vendor} stopped sending the file: try again.`))
    moved = false
  }, stall).unref()
  pipeline(source, body, () => clearInterval(timer))
  return body
}
