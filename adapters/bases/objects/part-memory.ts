import { StorageError } from '../../contract.ts'

/**
 * The memory that buffers parts before they are sent. All writes of this process share it. A write of known size that gets
 * no memory streams its part unbuffered instead.
 */

const mib = 1024 * 1024
/** The maximum number of bytes in use. */
const budget = 48 * mib
/**
 * The bytes of the budget that only writes of unknown size get. They must buffer, as object stores need the length of each
 * part first.
 */
const reserve = 16 * mib

export interface PartMemory {
  readonly bytes: Buffer
  /** Pass `reusable: true` if nothing reads from the buffer or writes to it any more. */
  release(options: { reusable: boolean }): void
}

interface Waiting {
  length: number
  resolve(memory: PartMemory): void
}

/** Buffers that are free for reuse. */
let idle: Buffer[] = []
let used = 0
const waiting: Waiting[] = []

/** Returns memory, or undefined if none is free. */
export function takeMemory(length: number): PartMemory | undefined {
  const isFull = waiting.length > 0 || used + length > budget - reserve
  return isFull && length > 0 ? undefined : lend(length)
}

/**
 * Waits for memory, first come, first served. A caller that has memory may wait for more only if it releases its own
 * regardless of the wait.
 * @param time the maximum wait in milliseconds, since slow uploads may keep all memory in use for any time
 * @throws UNAVAILABLE after that time
 */
export async function waitForMemory(length: number, signal: AbortSignal, time: number): Promise<PartMemory> {
  signal.throwIfAborted()
  if (waiting.length === 0 && used + length <= budget) return lend(length)
  const { promise, resolve, reject } = Promise.withResolvers<PartMemory>()
  const entry: Waiting = { length, resolve }
  const leave = (reason: unknown) => {
    const index = waiting.indexOf(entry)
    // The caller already has its memory and releases it.
    if (index === -1) return
    waiting.splice(index, 1)
    reject(reason)
    serve()
  }
  const onAbort = () => leave(signal.reason)
  waiting.push(entry)
  signal.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(() => leave(noMemory()), time)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

function noMemory(): StorageError {
  const message = 'Too many uploads of unknown size are running: send the size (Content-Length), or try again later.'
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
      // Short buffers have many different lengths and are cheap to allocate.
      if (reusable && length >= mib) idle.push(bytes)
      serve()
    },
  }
}
