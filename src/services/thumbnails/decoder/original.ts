/** The types between the decoders and the process: the original that they read, and the picture that they return. */

/** The file that a thumbnail shows, read by range. */
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

/** An encoded image, or pixels with four bytes each: red, green, blue, alpha. */
export type Picture = Uint8Array | { width: number; height: number; rgba: Uint8Array }

/** Pixels of an image that is decoded, which bounds memory. The largest cameras make 150 megapixels. */
export const maxPixels = 160_000_000

/** Bytes. Larger originals have no thumbnail, unless a part of them is enough. */
const maxWhole = 64 * 1024 * 1024

/** @throws Error if the file is too large */
export async function readWhole(original: Original): Promise<Uint8Array> {
  if (original.size !== null && original.size > maxWhole) throw new Error('The file is too large.')
  const bytes = await original.read(0, original.size ?? maxWhole + 1)
  if (bytes.length > maxWhole) throw new Error('The file is too large.')
  return bytes
}
