/** Buffers that downloads read into, over and over: a fresh one for each chunk halves their speed. */

const largest = 1024 * 1024
const smallest = 16 * 1024
/** Bytes in use at once, beyond which a download gets the smallest. */
const budget = 32 * 1024 * 1024
/** Of the largest, kept for the next download. */
const maxIdle = 8

export interface Lease {
  buffers: readonly [Buffer, Buffer]
  /** `reusable`: nothing reads from them or writes into them any more. */
  release(options: { reusable: boolean }): void
}

const idle: Buffer[] = []
let leased = 0

/** Two buffers for `bytes` bytes; the more are in use, the smaller, so that slow readers share a bounded sum. */
export function leaseBuffers(bytes: number): Lease {
  const size = chooseSize(bytes)
  const take = () => (size === largest ? idle.pop() : undefined) ?? Buffer.allocUnsafeSlow(size)
  const buffers = [take(), take()] as const
  leased += 2 * size
  return {
    buffers,
    release({ reusable }) {
      leased -= 2 * size
      if (reusable && size === largest) idle.push(...buffers.slice(0, maxIdle - idle.length))
    },
  }
}

/** Halved until both are at most an eighth of what is left, and hold no more than what is to be read. */
function chooseSize(bytes: number): number {
  const share = (budget - leased) / 16
  let size = largest
  while (size > smallest && (size > share || size >= bytes)) size /= 2
  return size
}
