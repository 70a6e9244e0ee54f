/**
 * The memory that buffers parts before they are sent. All writes of this process share it. A write of known size that gets
 * no memory streams its part unbuffered instead.
 */
import { StorageError } from '../../contract.ts'
import { Capacity } from '../limits.ts'

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

/** Buffers that are free for reuse. */
let idle: Buffer[] = []
let used = 0
const capacity = new Capacity(budget)

/** Returns memory, or undefined if none is free. */
export function takeMemory(length: number): PartMemory | undefined {
  return length === 0 || capacity.tryTake(length, reserve) ? lend(length) : undefined
}

/**
 * Waits for memory, first come, first served. A caller that has memory may wait for more only if it releases its own
 * regardless of the wait.
 * @param time the maximum wait in milliseconds, since slow uploads may keep all memory in use for any time
 * @throws UNAVAILABLE after that time
 */
export async function waitForMemory(length: number, signal: AbortSignal, time: number): Promise<PartMemory> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(noMemory()), time)
  try {
    await capacity.take(length, AbortSignal.any([signal, late.signal]))
    return lend(length)
  } finally {
    clearTimeout(timer)
  }
}

function noMemory(): StorageError {
  const message = 'Too many uploads of unknown size are running: send the size (Content-Length), or try again later.'
  return new StorageError('UNAVAILABLE', message, { retryAfterMs: 30_000 })
}

/** Returns a buffer for bytes that were taken from the capacity. */
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
      capacity.give(length)
    },
  }
}
