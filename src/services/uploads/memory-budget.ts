/** Bounds the memory that all uploads of this process use together, however many or slow they are. */
import { AppError } from '../../errors.ts'

const mib = 1024 * 1024

/** Bytes gathered for blocks. Blocks that are being sent can use as many again. */
const gatheredBytes = 128 * mib
const smallestShare = 64 * 1024
let sharing = 0

/** One upload's share of the memory for blocks. An upload that reaches it moves its bytes to the database. */
export class BlockBudget implements Disposable {
  constructor() {
    sharing += 1
  }

  /** Shrinks as the number of uploads grows. */
  get bytes(): number {
    return Math.max(smallestShare, gatheredBytes / sharing)
  }

  [Symbol.dispose](): void {
    sharing -= 1
  }
}

/** Bytes of all bodies whose checksum is not yet verified. */
const waitingBytes = 128 * mib
let waiting = 0

/** The memory of one request whose body is buffered until its checksum is verified and it is stored. */
export class ChecksumBuffer implements Disposable {
  #bytes = 0

  /** @throws UNAVAILABLE */
  add(bytes: number): void {
    if (waiting + bytes > waitingBytes) {
      throw new AppError('UNAVAILABLE', 'Too many uploads with checksums are in progress: try again in a few seconds.')
    }
    this.#bytes += bytes
    waiting += bytes
  }

  [Symbol.dispose](): void {
    waiting -= this.#bytes
  }
}

/** Bytes of all parts in memory that wait for their turn or are being appended. */
const partBytes = 128 * mib
let inParts = 0

/** The memory of one part. */
export class PartBuffer {
  #bytes = 0

  /** Returns false if all parts together would need too much memory. */
  take(bytes: number): boolean {
    if (inParts + bytes > partBytes) return false
    this.#bytes += bytes
    inParts += bytes
    return true
  }

  release(): void {
    inParts -= this.#bytes
    this.#bytes = 0
  }
}
