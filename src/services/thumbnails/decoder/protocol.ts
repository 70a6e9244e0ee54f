/** The messages between the server and a decoder process, which works on one task at a time. */

/** The decoders. Each reads a family of file formats. */
export type DecoderName = 'image' | 'heic' | 'pdf' | 'raw' | 'audio' | 'video'

export type ThumbnailFormat = 'webp' | 'avif'

export interface Task {
  decoder: DecoderName
  /** The size of the original in bytes; null if the back end does not report it. */
  size: number | null
  /** The longest side of the thumbnail in pixels. */
  pixels: number
  format: ThumbnailFormat
  /** The path of the program ffmpeg; null if there is none. */
  ffmpeg: string | null
}

/** A range of the original, in bytes. The answer is shorter where the file ends earlier. */
export interface ReadRequest {
  offset: number
  length: number
}

/** The answer to a read request is any number of `bytes`, then `end`, or `cancel` if the original cannot be read. */
export type ToDecoder = { task: Task } | { bytes: Uint8Array } | { end: true } | { cancel: true }

export type FromDecoder =
  | { read: ReadRequest }
  | { image: Uint8Array }
  /** The file has no thumbnail, now and later. */
  | { failure: string }
  /** The task was canceled. */
  | { canceled: true }
