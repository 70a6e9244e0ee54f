import { createHash, type Hash } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import { AppError } from '../../errors.ts'

/** What a body has to have; nothing is stored where it has another. */
export interface Digests {
  md5?: Buffer
  sha256?: Buffer
  sha512?: Buffer
}

export interface CheckedBody {
  body: Readable
  /** Of all bytes once they have come, lowercase hex; those that were asked for or announced. */
  hashes(): ReadonlyMap<string, string>
}

/**
 * Fails the write where the bytes are not what the client announced. Without an announcement nothing is looked at, and
 * nothing is hashed that nobody compares.
 */
export function checkedBody(
  { body, size, digests = {} }: { body: Readable; size?: number | undefined; digests?: Digests | undefined },
  options: {
    /** Bytes. */
    maxBytes: number
    tooLarge: (maxBytes: number) => AppError
    /** To be computed, too. */
    algorithm?: string | undefined
    /** Asked behind the last byte, before the end is passed on. */
    mayEnd?: (() => Promise<void>) | undefined
  },
): CheckedBody {
  const { maxBytes, tooLarge, algorithm, mayEnd } = options
  const expected = Object.entries(digests) as [keyof Digests, Buffer][]
  const algorithms = new Set([...expected.map(([name]) => name), ...(algorithm ? [algorithm] : [])])
  const running = new Map<string, Hash>([...algorithms].map(name => [name, createHash(name)]))
  const hashes = new Map<string, string>()
  let received = 0
  const check = new Transform({
    // A chunk of a socket: what waits beyond that is joined by copying for whoever iterates, a third of the time spent.
    highWaterMark: 64 * 1024,
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length
      for (const hash of running.values()) hash.update(chunk)
      done(received > maxBytes ? tooLarge(maxBytes) : null, chunk)
    },
    flush(done) {
      if (size !== undefined && received !== size) {
        return done(new AppError('INCOMPLETE_BODY', `The body has ${received} bytes instead of ${size}.`))
      }
      for (const [name, hash] of running) hashes.set(name, hash.digest('hex'))
      for (const [name, digest] of expected) {
        if (hashes.get(name) !== digest.toString('hex')) {
          const message = 'The bytes do not match the digest that was sent with them: nothing was stored.'
          return done(new AppError('DIGEST_MISMATCH', message))
        }
      }
      if (mayEnd) void settle(mayEnd(), done)
      else done()
    },
  })
  // It may fail before the back end has begun to read it, who then finds it failed; nobody listens until then.
  check.on('error', () => {})
  body.once('error', error => check.destroy(error))
  body.once('close', () => {
    if (!body.readableEnded) check.destroy(new AppError('INCOMPLETE_BODY'))
  })
  check.once('close', () => {
    if (!body.readableEnded) body.unpipe(check)
  })
  return { body: body.pipe(check), hashes: () => hashes }
}

async function settle(work: Promise<void>, done: (error?: Error | null) => void): Promise<void> {
  try {
    await work
  } catch (error) {
    return done(error instanceof Error ? error : new Error('What was to be asked failed', { cause: error }))
  }
  done()
}
