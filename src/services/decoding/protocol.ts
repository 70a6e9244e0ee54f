/** The messages between the server and a decoder process, which works on one task at a time. */

/** A range of the original, in bytes. The answer is shorter where the file ends earlier. */
export interface ReadRequest {
  offset: number
  length: number
}

/** The answer to a read request is any number of `bytes`, then `end`, or `cancel` if the original cannot be read. */
export type ToDecoder<Task> = { task: Task } | { bytes: Uint8Array } | { end: true } | { cancel: true }

export type FromDecoder<Result> =
  | { read: ReadRequest }
  | { result: Result }
  /** The file cannot be decoded, now and later. */
  | { failure: string }
  /** The task was canceled. */
  | { canceled: true }
