/** One file on its way to the server, by tus (https://tus.io/protocols/resumable-upload). */
import { DetailedError, Upload } from 'tus-js-client'
import { ApiError, consoleHeaders, toError } from '../../api/request.ts'
import type { Conflict } from '../operations.ts'
import { fingerprintOf, hold, urlStorage } from './memory.ts'

/** Bytes: with so few the first request brings them along. */
const smallFile = 512 * 1024

export interface TransferInput {
  userId: string
  providerId: string
  /** Of the file. */
  path: string
  file: File
  conflict: Conflict
  onProgress: (sent: number) => void
  /** With how many bytes the server has, where that is asked before it goes on. */
  onKept: (bytes: number) => void
  /** With the path that it was stored at. */
  onDone: (storedPath: string) => void
  onError: (error: ApiError) => void
}

export interface Transfer {
  /** Also goes on, from what the server has. */
  start(): void
  pause(): Promise<void>
  /** The server forgets what it has. */
  cancel(): Promise<void>
  /** Leaves it to other tabs. */
  release(): void
}

export function createTransfer(input: TransferInput): Transfer {
  const { userId, providerId, path, file, conflict, onProgress, onKept, onDone, onError } = input
  let hasLooked = false
  const fingerprint = fingerprintOf(userId, providerId, path, file)
  const release = file.size > smallFile ? hold(fingerprint) : () => {}
  const upload = new Upload(file, {
    endpoint: '/api/upload/resumable',
    headers: consoleHeaders,
    metadata: { providerId, path, conflict: conflict.toLowerCase(), ...(file.type && { filetype: file.type }) },
    fingerprint: async () => fingerprint,
    urlStorage,
    removeFingerprintOnSuccess: true,
    uploadDataDuringCreation: file.size > 0 && file.size <= smallFile,
    storeFingerprintForResuming: file.size > smallFile,
    // The queue knows when it is worth to try again.
    retryDelays: [],
    onAfterResponse(request, response) {
      const status = response.getStatus()
      // The library would begin anew, whatever kept the server from telling how far it is.
      if (request.getMethod() === 'HEAD' && status >= 400 && status !== 404 && status !== 410) {
        throw toError({ status }, null)
      }
      if (request.getMethod() === 'HEAD') onKept(Number(response.getHeader('Upload-Offset') ?? 0))
    },
    onProgress: sent => onProgress(sent),
    onSuccess({ lastResponse }) {
      release()
      onDone(decodeURIComponent(lastResponse.getHeader('Upload-Stored-Path') ?? path))
    },
    onError: error => onError(asApiError(error)),
  })
  return {
    start() {
      if (hasLooked) return upload.start()
      hasLooked = true
      void upload.findPreviousUploads().then(([previous]) => {
        if (previous) upload.resumeFromPreviousUpload(previous)
        upload.start()
      })
    },
    pause: () => upload.abort(),
    cancel() {
      release()
      return upload.abort(true)
    },
    release,
  }
}

function asApiError(error: Error | DetailedError): ApiError {
  if (error instanceof DetailedError && error.causingError instanceof ApiError) return error.causingError
  const response = error instanceof DetailedError ? error.originalResponse : null
  const status = response?.getStatus() ?? 0
  if (!response || status === 0) {
    return new ApiError('The server cannot be reached.', { status: 0, reason: 'NETWORK', cause: error })
  }
  let body: unknown = null
  try {
    body = JSON.parse(response.getBody())
  } catch {
    // Something between here and the server has answered in its own words.
  }
  return toError({ status }, body)
}
