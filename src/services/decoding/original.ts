/** The file that a decoder reads, in the process of the decoder. */

/** The file that a task concerns, read by range. */
export interface Original {
  /** Bytes; null if unknown. */
  readonly size: number | null
  /** Returns fewer bytes where the file ends earlier. @throws ReadCanceled */
  read(offset: number, length: number): Promise<Uint8Array>
}

/** The server stopped the task, or could not read the original. It says nothing about the file. */
export class ReadCanceled extends Error {
  override name = 'ReadCanceled'
}

/** Bytes. A larger original is not decoded, unless a part of it is enough. */
const maxWhole = 64 * 1024 * 1024

/** @param limit bytes @throws Error if the file is too large */
export async function readWhole(original: Original, limit = maxWhole): Promise<Uint8Array> {
  if (original.size !== null && original.size > limit) throw new Error('The file is too large.')
  const bytes = await original.read(0, original.size ?? limit + 1)
  if (bytes.length > limit) throw new Error('The file is too large.')
  return bytes
}
