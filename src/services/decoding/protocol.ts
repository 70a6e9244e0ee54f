/**
 * The messages between the server and a decoder process, which works on one task at a time. The bytes of the original go through a pipe
 * of their own, because a message is copied several times on its way.
 */

/** A range of the original, in bytes. The answer is shorter where the file ends earlier. */
export interface ReadRequest {
  offset: number
  length: number
}

/** The file descriptor of the pipe in the decoder process. */
export const bytesPipe = 3

/**
 * The answer to a read request is bytes in the pipe, then `end`, or `cancel` if the original cannot be read. `sent` counts all bytes that
 * the process was ever sent, so that it knows which of them belong to the request.
 */
export type ToDecoder<Task> = { task: Task } | { end: true; sent: number } | { cancel: true; sent: number }

export type FromDecoder<Result> =
  | { read: ReadRequest }
  | { result: Result }
  /** The file cannot be decoded, now and later. */
  | { failure: string }
  /** The task was canceled. */
  | { canceled: true }
