import { addAbortSignal, pipeline, Readable, Transform } from 'node:stream'
import { type Call, StorageError, type StoragePath } from '../../contract.ts'
import { hasCode } from '../errors.ts'
import type { Facts, PlainFiles } from './files.ts'

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

/** The number of attempts to continue without getting another byte. */
const maxTries = 3

export interface Content extends Call {
  facts: Facts
  /** The bytes `start` to `end - 1`. */
  start: number
  end: number
}

/** Resolves once the server has begun to send. The body continues after a lost connection while the file is unchanged. */
export async function openBody(files: PlainFiles, path: StoragePath, content: Content): Promise<Readable> {
  const chunks = chunksOf(files, path, content)
  const first = await chunks.next()
  async function* all() {
    if (!first.done) yield first.value
    yield* chunks
  }
  // A generator that was never read does not end the one inside.
  return Readable.from(all(), { objectMode: false }).once('close', () => void chunks.return())
}

async function* chunksOf(files: PlainFiles, path: StoragePath, content: Content): AsyncGenerator<Uint8Array, void> {
  const { facts, end, signal } = content
  for (let [position, tries] = [content.start, 0]; position < end; ) {
    try {
      for await (const chunk of files.receive(path, { signal, facts, start: position, end })) {
        yield chunk.subarray(0, end - position)
        position += chunk.length
        tries = 0
        if (position >= end && end !== facts.size) return
      }
      if (position < end) throw new StorageError('UNAVAILABLE', 'The file became shorter while it was read: try again.')
    } catch (error) {
      signal.throwIfAborted()
      if (++tries > maxTries || !hasCode(error, 'UNAVAILABLE')) throw error
      const now = await files.find(path, { signal })
      if (now?.size !== facts.size || now?.modifiedAt?.getTime() !== facts.modifiedAt?.getTime()) throw error
    }
  }
}
