/** How much of the files that are written a process keeps in its memory and on its disk. */
import { ByteBudget } from '../../lib/byte-budget.ts'

const mebibyte = 1024 * 1024

/** Bytes. */
export interface WriteBounds {
  /** Of a file that is sent as a whole when it is closed. */
  small: number
  /** That wait for earlier ones, and how far they can be ahead. */
  window: number
  /** Of the copy of what streams. */
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
