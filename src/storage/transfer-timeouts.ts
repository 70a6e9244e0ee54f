/**
 * Timeouts for back ends that stall during a transfer, whatever their adapter. They count only the time in which the
 * server waits for the back end, not the time in which it waits for a slow client.
 */
import { Duplex, Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { AppError } from '../errors.ts'
import { followSignal, startDeadline } from '../lib/timeout.ts'

export interface TransferTimeouts {
  /** Milliseconds without progress of a transfer. */
  transfer: number
  /** Milliseconds for a step whose progress is invisible: the end of a write, a copy inside the back end. */
  step: number
}

/** The number of progress checks within one timeout. */
const checksPerTimeout = 4

/** Runs `work` under a signal that also aborts after `time` milliseconds. @throws UNAVAILABLE after the timeout */
export async function runWithTimeout<T>(
  signal: AbortSignal,
  time: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using deadline = startDeadline(time, () => stallError(time), signal)
  return await work(deadline.signal)
}

/**
 * Returns a stream with the chunks of `body`, each requested when the reader asks for it. It fails with UNAVAILABLE if the
 * back end sends no chunk within `time` milliseconds of a request.
 */
export function readWithTimeout(body: Readable, time: number): Readable {
  const chunks = body[Symbol.asyncIterator]()
  let askedAt: number | null = null
  const timer = setInterval(() => {
    if (askedAt !== null && performance.now() - askedAt >= time) result.destroy(stallError(time))
  }, time / checksPerTimeout).unref()
  const result = new Readable({
    // Passes on values that are not bytes: the reader reports them.
    objectMode: true,
    highWaterMark: 0,
    read() {
      askedAt = performance.now()
      chunks.next().then(
        ({ done, value }) => {
          askedAt = null
          result.push(done ? null : value)
        },
        error => result.destroy(error.code === 'ERR_STREAM_PREMATURE_CLOSE' ? undefined : error),
      )
    },
    destroy(error, done) {
      clearInterval(timer)
      body.destroy()
      done(error)
    },
  })
  // The next read reports the error.
  body.on('error', () => {})
  return result
}

interface WriteWatch {
  /** Bytes; undefined if the size is unknown. */
  size: number | undefined
  /** Is called for each chunk that is taken from the body, in order. */
  onChunk?: ((chunk: Uint8Array) => void) | undefined
  /** Returns whether the back end waits for other work, which has timeouts of its own. */
  isPaused?: (() => boolean) | undefined
}

/**
 * Runs `work`, which sends `body` to a back end.
 * @throws UNAVAILABLE if the back end reads nothing from a waiting body for too long
 */
export async function writeWithTimeout<T>(
  signal: AbortSignal,
  body: Readable,
  { transfer, step }: TransferTimeouts,
  work: (signal: AbortSignal) => Promise<T>,
  { size, onChunk, isPaused = () => false }: WriteWatch,
): Promise<T> {
  using timeout = followSignal(signal)
  let taken = 0
  const emit = body.emit
  // A listener would start the flow of the body. Node emits `data` however a stream is read: see `readable.read`.
  body.emit = (event: string | symbol, ...args: unknown[]) => {
    if (event === 'data') {
      const chunk = args[0] as Uint8Array
      taken += chunk.length
      onChunk?.(chunk)
      recordForGc(chunk.length)
    }
    return emit.call(body, event, ...args)
  }
  // A duplex stream fills itself. Any other stream has to read ahead, so that `readableLength` shows whether a chunk
  // waits.
  if (!(body instanceof Duplex)) body.read(0)
  let takenBefore = 0
  let movedAt = performance.now()
  const timer = setInterval(() => {
    const isAllTaken = body.readableEnded || taken === size
    const isClientAwaited = !isAllTaken && body.readableLength === 0
    if (taken !== takenBefore || isClientAwaited || isPaused()) {
      takenBefore = taken
      movedAt = performance.now()
    }
    const time = isAllTaken ? step : transfer
    if (performance.now() - movedAt >= time) timeout.abort(stallError(time))
  }, transfer / checksPerTimeout).unref()
  try {
    return await work(timeout.signal)
  } finally {
    clearInterval(timer)
    body.emit = emit
  }
}

function stallError(time: number): AppError {
  return new AppError('UNAVAILABLE', `Nothing moved at the back end for ${time / 1000} seconds: try again.`)
}

/*
 * The garbage of uploads is collected early. The chunks of a body lie outside V8's heap but count towards its limit, and at the
 * limit V8 marks the whole heap. By default this happens every 32 MiB of an upload and halves its speed: see bench/NOTES.md.
 */

// V8 sets the limit at one to four times the live memory, and near one after an idle time.
setFlagsFromString('--heap-growing-percent=200')
setFlagsFromString('--expose-gc')
const collect: (options: { type: 'minor'; execution: 'sync' }) => void = runInNewContext('gc')

/** Bytes. A collection of young objects takes half a millisecond. */
const collectEvery = 8 * 1024 * 1024
let sinceCollected = 0

/** Call this for every chunk received. */
function recordForGc(bytes: number): void {
  sinceCollected += bytes
  if (sinceCollected < collectEvery) return
  sinceCollected = 0
  collect({ type: 'minor', execution: 'sync' })
}
