import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Conflict, StowageError } from '../../../client/src/index.ts'
import type { RemotePath, Server } from '../remote/server.ts'
import type { UploadIdentity, UploadRecords } from './upload-records.ts'

interface UploadFileOptions {
  conflict: Conflict
  records: UploadRecords
  signal: AbortSignal
  /** Called with the bytes that are stored. */
  onBytes: (bytes: number) => void
}

/**
 * Uploads a local file. An upload of a large file continues where the same command stopped, if the file has not changed.
 * @returns the path of the stored file
 * @throws StowageError, and system errors of the local file
 */
export async function uploadFile(
  server: Server,
  { local, target }: { local: string; target: RemotePath },
  { conflict, records, signal, onBytes }: UploadFileOptions,
): Promise<string> {
  const { files } = server.stowage
  const { providerId, path } = target
  const { size, mtimeMs, ino } = await stat(local)
  const version = [size, mtimeMs, ino].join()
  const identity: UploadIdentity = [server.url, providerId, path, conflict, resolve(local)]
  const earlier = await records.find(identity)
  if (earlier && earlier.version !== version) {
    await files.discardUpload(earlier.url).catch(() => {})
    await records.forget(identity)
  }
  const url = earlier?.version === version ? earlier.url : undefined
  let isStarted = url !== undefined
  const onStart = async (started: string) => {
    isStarted = true
    if (started !== url) await records.store(identity, { url: started, version })
  }
  try {
    const body = await openAsBlob(local)
    const onProgress = (sent: number) => onBytes(sent)
    const options = { providerId, path, body, conflict, signal, onProgress, resume: { url, onStart } }
    const stored = await files.upload(options)
    if (isStarted) await records.forget(identity)
    return stored
  } catch (error) {
    // The client keeps the upload for another try after an abort or a temporary failure, and deletes it otherwise.
    const isKept = signal.aborted || (error instanceof StowageError && error.retryable)
    if (isStarted && !isKept) await records.forget(identity)
    throw error
  }
}
