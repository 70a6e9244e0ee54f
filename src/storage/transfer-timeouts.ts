/**
 * Back ends that stop in the middle, of whichever adapter: who waits for one is told after a set time. Only the time
 * counts in which the back end is asked and gives nothing, or is given something and does not take it; that of a slow client
 * does not.
 */
import { Duplex, Readable } from 'node:stream'
import { AppError } from '../errors.ts'
import { startDeadline } from '../timeout.ts'
import { passed } from './gc-pressure.ts'

export interface Patience {
  /** Milliseconds in which nothing of a transfer moves. */
  transfer: number
  /** Milliseconds of a step in which nothing can be seen to move: the end of a write, a copy inside the back end. */
  step: number
}

/** How often in that time it is looked whether something has moved. */
const looks = 4

/** `work` under a signal that also aborts after `time` ms. @throws UNAVAILABLE then */
export async function within<T>(
  signal: AbortSignal,
  time: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using deadline = startDeadline(time, () => stalled(time))
  return await work(AbortSignal.any([signal, deadline.signal]))
}

/** The same pieces as a back end's body has, each asked for when it is wanted. Fails with UNAVAILABLE after `time` ms without one. */
export function givenInTime(body: Readable, time: number): Readable {
  const pieces = body[Symbol.asyncIterator]()
  let askedAt: number | null = null
  const timer = setInterval(() => {
    if (askedAt !== null && performance.now() - askedAt >= time) given.destroy(stalled(time))
  }, time / looks).unref()
  const given = new Readable({
    // Whatever it is: who reads it says what is wrong with it.
    objectMode: true,
    highWaterMark: 0,
    read() {
      askedAt = performance.now()
      pieces.next().then(
        ({ done, value }) => {
          askedAt = null
          given.push(done ? null : value)
        },
        error => given.destroy(error.code === 'ERR_STREAM_PREMATURE_CLOSE' ? undefined : error),
      )
    },
    destroy(error, done) {
      clearInterval(timer)
      body.destroy()
      done(error)
    },
  })
  // Told to who asks for the next piece.
  body.on('error', () => {})
  return given
}

/**
 * Runs `work`, in which a back end takes `body`.
 * @param size bytes, where they are known
 * @throws UNAVAILABLE where it takes nothing of it for too long
 */
export async function takenInTime<T>(
  signal: AbortSignal,
  body: Readable,
  { transfer, step }: Patience,
  size: number | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  let taken = 0
  const emit = body.emit
  // A listener would set the body flowing. Each piece is told of, in whichever way it is read: see `readable.read` of Node.
  body.emit = (event: string | symbol, ...args: unknown[]) => {
    if (event === 'data') {
      const { length } = args[0] as Uint8Array
      taken += length
      passed(length)
    }
    return emit.call(body, event, ...args)
  }
  // What is piped into is filled by itself; what is not begins to read ahead, so that it is seen whether there is anything.
  if (!(body instanceof Duplex)) body.read(0)
  let takenBefore = 0
  let movedAt = performance.now()
  const timer = setInterval(() => {
    const isAllTaken = body.readableEnded || taken === size
    const isClientAwaited = !isAllTaken && body.readableLength === 0
    if (taken !== takenBefore || isClientAwaited) {
      takenBefore = taken
      movedAt = performance.now()
    }
    const time = isAllTaken ? step : transfer
    if (performance.now() - movedAt >= time) late.abort(stalled(time))
  }, transfer / looks).unref()
  try {
    return await work(AbortSignal.any([signal, late.signal]))
  } finally {
    clearInterval(timer)
    body.emit = emit
  }
}

function stalled(time: number): AppError {
  return new AppError('UNAVAILABLE', `Nothing moved at the back end for ${time / 1000} seconds: try again.`)
}
