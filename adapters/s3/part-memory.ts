import { StorageError } from '../contract.ts'

/**
 * Memory that parts are gathered in. All writes of this process share it, however many they are and however long a slow
 * one holds what it has: whoever knows its size and gets none sends that part as it comes.
 */

const mib = 1024 * 1024
/** Bytes in use at once. */
const budget = 48 * mib
/** Of these only for writes that cannot do without, as S3 has to know the size of a part before it begins. */
const reserve = 16 * mib

export interface PartMemory {
  readonly bytes: Buffer
  /** `reusable`: nothing reads from it or writes into it any more. */
  release(options: { reusable: boolean }): void
}

interface Waiting {
  length: number
  resolve(memory: PartMemory): void
}

/** With `bytes` not in use. */
let idle: Buffer[] = []
let used = 0
const waiting: Waiting[] = []

/** Undefined where there is none to be had now. */
export function takeMemory(length: number): PartMemory | undefined {
  const isFull = waiting.length > 0 || used + length > budget - reserve
  return isFull && length > 0 ? undefined : lend(length)
}

/**
 * First come, first served. Who holds some while it waits for more must be about to release it without that.
 * @param time milliseconds; slow ones may hold all of it for as long as they like
 * @throws UNAVAILABLE
 */
export async function waitForMemory(length: number, signal: AbortSignal, time: number): Promise<PartMemory> {
  signal.throwIfAborted()
  if (waiting.length === 0 && used + length <= budget) return lend(length)
  const { promise, resolve, reject } = Promise.withResolvers<PartMemory>()
  const entry: Waiting = { length, resolve }
  const leave = (reason: unknown) => {
    const place = waiting.indexOf(entry)
    // Served already: whoever gets it releases it.
    if (place === -1) return
    waiting.splice(place, 1)
    reject(reason)
    serve()
  }
  const onAbort = () => leave(signal.reason)
  waiting.push(entry)
  signal.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(() => leave(crowded()), time)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

function crowded(): StorageError {
  const message =
    'Too many slow uploads that do not tell their size are under way: announce it (Content-Length), or try again later.'
  return new StorageError('UNAVAILABLE', message, { retryAfterMs: 30_000 })
}

function serve(): void {
  for (let next = waiting[0]; next && used + next.length <= budget; next = waiting[0]) {
    waiting.shift()
    next.resolve(lend(next.length))
  }
}

function lend(length: number): PartMemory {
  const found = idle.find(buffer => buffer.length === length)
  const bytes = found ?? Buffer.allocUnsafeSlow(length)
  used += length
  idle = idle.filter(buffer => buffer !== found)
  const idleBytes = () => idle.reduce((sum, buffer) => sum + buffer.length, 0)
  while (idle.length > 0 && used + idleBytes() > budget) idle.shift()
  return {
    bytes,
    release({ reusable }) {
      used -= length
      // Short ones are of all lengths and soon made.
      if (reusable && length >= mib) idle.push(bytes)
      serve()
    },
  }
}
