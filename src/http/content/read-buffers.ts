/** Reusable read buffers for downloads. Allocating one per chunk would halve the speed. */

const largest = 1024 * 1024
const smallest = 16 * 1024
/** Bytes that all downloads can use together; beyond them, a download gets the smallest buffers. */
const budget = 32 * 1024 * 1024
/** The number of idle buffers of the largest size to keep. */
const maxIdle = 8

export interface BufferLease {
  buffers: readonly [Buffer, Buffer]
  /** Pass `reusable: false` if an operation could still read or write the buffers. */
  release(options: { reusable: boolean }): void
}

const idle: Buffer[] = []
let leased = 0

/** Leases two buffers to send `bytes` bytes. They get smaller as more are in use, so the total is bounded. */
export function leaseBuffers(bytes: number): BufferLease {
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

/** Halves the size until both buffers fit in an eighth of the remaining budget and into the bytes to read. */
function chooseSize(bytes: number): number {
  const share = (budget - leased) / 16
  let size = largest
  while (size > smallest && (size > share || size >= bytes)) size /= 2
  return size
}
