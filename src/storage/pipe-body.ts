import { PassThrough, type Readable, type Transform } from 'node:stream'
import { AppError } from '../errors.ts'

/**
 * Pipes a body into a stream, which fails if the body fails or is closed before its end. It also checks whether the body has
 * already failed, because such a body emits no more events and the stream would wait forever.
 * @param closed returns the error for a body that was closed before its end
 */
export function pipeBody<T extends Transform>(body: Readable, into: T, closed: () => Error): T {
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
