import { addAbortSignal, pipeline, type Readable, Transform } from 'node:stream'

/** Counts the bytes of a body, and remembers its error, which the caller reports as it is. */
export class Source {
  sent = 0
  failure: { error: unknown } | undefined
  /** The same bytes. Destroying it destroys the body, and so does the signal. */
  readonly stream: Readable

  constructor(body: Readable, signal: AbortSignal) {
    const stream = new Transform({
      transform: (chunk: Buffer, _, done) => {
        this.sent += chunk.length
        done(null, chunk)
      },
    })
    // Once the stream is destroyed, the error of the body is only a consequence.
    const fail = (error: unknown) => {
      if (!stream.destroyed) this.failure ??= { error }
    }
    if (body.errored) fail(body.errored)
    body.once('error', fail).once('close', () => {
      if (!body.readableEnded) fail(new Error('The body was destroyed before its end'))
    })
    pipeline(body, stream, () => {})
    this.stream = addAbortSignal(signal, stream)
  }
}

/** Runs `work`. Destroys the body if that fails, and rejects with the error of the body where that is the reason. */
export async function withSource<T>(
  body: Readable,
  signal: AbortSignal,
  work: (source: Source) => Promise<T>,
): Promise<T> {
  const source = new Source(body, signal)
  try {
    return await work(source)
  } catch (error) {
    body.destroy()
    throw source.failure && !signal.aborted ? source.failure.error : error
  }
}
