/** The task of a decoder process that makes thumbnails. The result is the image. */

/** The decoders. Each reads a family of file formats. */
export type DecoderName = 'image' | 'heic' | 'pdf' | 'raw' | 'audio' | 'video'

export type ThumbnailFormat = 'webp' | 'avif'

export interface ThumbnailTask {
  decoder: DecoderName
  /** The size of the original in bytes; null if the back end does not report it. */
  size: number | null
  /** The longest side of the thumbnail in pixels. */
  pixels: number
  format: ThumbnailFormat
  /** The path of the program ffmpeg; null if there is none. */
  ffmpeg: string | null
}

/** An encoded image, or pixels with four bytes each: red, green, blue, alpha. */
export type Picture = Uint8Array | { width: number; height: number; rgba: Uint8Array }

/** Pixels of an image that is decoded, which bounds memory. The largest cameras make 150 megapixels. */
export const maxPixels = 160_000_000
