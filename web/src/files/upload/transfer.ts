/** Uploads one file with tus (https://tus.io/protocols/resumable-upload). */

import { DetailedError, Upload } from 'tus-js-client'
import { urlOf } from '../../api/base-path.ts'
import { ApiError, consoleHeaders, networkError, toError } from '../../api/request.ts'
import type { Conflict } from '../operations.ts'
import { fingerprintOf, lockFingerprint, urlStorage } from './unfinished-uploads.ts'

/** Bytes. Smaller files are sent with the first request. */
const smallFile = 512 * 1024

interface TransferInput {
  userId: string
  providerId: string
  /** The path of the file to create. */
  path: string
  file: File
  conflict: Conflict
  onProgress: (sent: number) => void
  /** Called before an upload resumes, with the number of bytes that the server has stored. */
  onOffset: (bytes: number) => void
  /** Called with the path at which the file was stored. */
  onDone: (storedPath: string) => void
  onError: (error: ApiError) => void
}

export interface Transfer {
  /** Starts or resumes the upload, from the last byte that the server stored. */
  start(): void
  pause(): Promise<void>
  /** Stops the upload and deletes it on the server. */
  cancel(): Promise<void>
  /** Unlocks the upload for other tabs. */
  release(): void
}

export function createTransfer(input: TransferInput): Transfer {
  const { userId, providerId, path, file, conflict, onProgress, onOffset, onDone, onError } = input
  let hasSearched = false
  const fingerprint = fingerprintOf(userId, providerId, path, file)
  const release = file.size > smallFile ? lockFingerprint(fingerprint) : () => {}
  const upload = new Upload(file, {
    endpoint: urlOf('/api/upload/resumable'),
    headers: consoleHeaders,
    metadata: { providerId, path, conflict: conflict.toLowerCase(), ...(file.type && { filetype: file.type }) },
    fingerprint: async () => fingerprint,
    urlStorage,
    removeFingerprintOnSuccess: true,
    uploadDataDuringCreation: file.size > 0 && file.size <= smallFile,
    storeFingerprintForResuming: file.size > smallFile,
    // The queue decides when to retry.
    retryDelays: [],
    onAfterResponse(request, response) {
      const status = response.getStatus()
      // The library would restart the upload from zero after any failed request for the offset.
      if (request.getMethod() === 'HEAD' && status >= 400 && status !== 404 && status !== 410) {
        throw toError({ status }, null)
      }
      if (request.getMethod() === 'HEAD') onOffset(Number(response.getHeader('Upload-Offset') ?? 0))
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
      if (hasSearched) return upload.start()
      hasSearched = true
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
  if (!response || status === 0) return networkError(error)
  let body: unknown = null
  try {
    body = JSON.parse(response.getBody())
  } catch {
    // A proxy responded with something other than JSON.
  }
  return toError({ status }, body)
}
