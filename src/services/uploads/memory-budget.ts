/** What the uploads under way in this process may hold in memory together, however many they are and however slow. */
import { AppError } from '../../errors.ts'

const mib = 1024 * 1024

/** Bytes that are gathered for blocks; with what is on its way meanwhile, twice as many. */
const gatheredBytes = 128 * mib
const smallestShare = 64 * 1024
let sharing = 0

/** One upload's share of the memory for blocks. Whoever has gathered so much sets it aside in the database. */
export class BlockBudget implements Disposable {
  constructor() {
    sharing += 1
  }

  /** The fewer, the more there are. */
  get bytes(): number {
    return Math.max(smallestShare, gatheredBytes / sharing)
  }

  [Symbol.dispose](): void {
    sharing -= 1
  }
}

/** Bytes of bodies that wait for their checksum. */
const waitingBytes = 128 * mib
let waiting = 0

/** What one request holds until its checksum is known to be right, and has been taken in. */
export class ChecksumBuffer implements Disposable {
  #bytes = 0

  /** @throws UNAVAILABLE */
  add(bytes: number): void {
    if (waiting + bytes > waitingBytes) {
      throw new AppError(
        'UNAVAILABLE',
        'Too many uploads with checksums are under way: send this one again in a while.',
      )
    }
    this.#bytes += bytes
    waiting += bytes
  }

  [Symbol.dispose](): void {
    waiting -= this.#bytes
  }
}
