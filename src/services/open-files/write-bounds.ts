/** How much of the files that are written a process keeps in its memory and on its disk. */
import { ByteBudget } from '../../lib/byte-budget.ts'

const mebibyte = 1024 * 1024

/** All bounds are in bytes. */
export interface WriteBounds {
  /** The size of a file that is sent as a whole when it is closed. A larger file streams. */
  small: number
  /** How far bytes can be ahead of the end of a file and still wait in memory for those before them. */
  window: number
  /** The size of the copy of a file that streams. */
  copy: number
  /** The memory of all small files, and of all that waits. A small file beyond it streams, and what waits takes a staged file. */
  memory: Readonly<Record<MemoryUse, ByteBudget>>
}

export type MemoryUse = 'small' | 'ahead'

export const usualBounds: WriteBounds = {
  small: mebibyte,
  window: 4 * mebibyte,
  copy: 256 * mebibyte,
  memory: {
    small: new ByteBudget({ total: 128 * mebibyte, ofOwner: 32 * mebibyte }),
    ahead: new ByteBudget({ total: 128 * mebibyte, ofOwner: 32 * mebibyte }),
  },
}
