import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Conflict, StowageError } from '../../../client/src/index.ts'
import type { RemotePath, Server } from '../server.ts'
import type { LocalTree } from '../trees/local-tree.ts'
import type { RemoteTree } from '../trees/remote-tree.ts'
import { saveFile } from '../trees/save-file.ts'
import type { Item, Steps, Tree } from '../trees/tree.ts'
import type { UploadIdentity, UploadRecords } from './upload-records.ts'

interface CopyFileOptions {
  conflict: Conflict
  signal: AbortSignal
  /** Called with the bytes that have arrived, or are stored. */
  onBytes: (bytes: number) => void
}

/** The way from one tree to another. */
export interface Route {
  source: Tree
  target: Tree
  /** Whether a copy has the modification time of its source. */
  keepsTimes: boolean
  /** Copies a file and resolves with the path of the copy as a person writes it. */
  copy(steps: Steps, source: Item, options: CopyFileOptions): Promise<string>
}

export function uploadRoute(server: Server, local: LocalTree, remote: RemoteTree, records: UploadRecords): Route {
  return {
    source: local,
    target: remote,
    keepsTimes: false,
    async copy(steps, _source, options) {
      const target = remote.pathOf(steps)
      const path = await uploadFile(server, { local: local.pathOf(steps), target }, { ...options, records })
      return `${target.storage.name}:${path}`
    },
  }
}

/** @param to the steps in the local tree that the downloaded tree, or file, gets */
export function downloadRoute(server: Server, remote: RemoteTree, local: LocalTree, to: Steps): Route {
  const below = (steps: Steps) => [...to, ...steps]
  return {
    source: remote,
    target: {
      accepts: name => local.accepts(name),
      display: steps => local.display(below(steps)),
      list: steps => local.list(below(steps)),
      makeFolder: steps => local.makeFolder(below(steps)),
      remove: steps => local.remove(below(steps)),
    },
    keepsTimes: true,
    async copy(steps, { modifiedAt }, options) {
      const target = below(steps)
      const path = local.pathOf(target)
      await local.requireFolder(target.slice(0, -1))
      return downloadFile(server, { source: remote.pathOf(steps), local: path, listedTime: modifiedAt }, options)
    },
  }
}

/**
 * Downloads a file, whose content is compared with its checksum if the back end has one. Its folder must exist.
 * @returns the path of the local file
 * @throws CommandError, StowageError, and system errors of the local file
 */
async function downloadFile(
  server: Server,
  { source, local, listedTime }: { source: RemotePath; local: string; listedTime: Date | null },
  { conflict, signal, onBytes }: CopyFileOptions,
): Promise<string> {
  const { providerId, path } = source
  const { body, modifiedAt } = await server.stowage.files.download({ providerId, path, signal })
  // The header has whole seconds, and the listing may be older than the content.
  const isSameSecond = listedTime && Math.floor(listedTime.getTime() / 1000) * 1000 === modifiedAt?.getTime()
  const time = isSameSecond ? listedTime : modifiedAt
  return saveFile(local, { body: counted(body, onBytes), modifiedAt: time }, conflict)
}

/** Passes bytes on, and reports how many have passed. */
async function* counted(
  body: ReadableStream<Uint8Array>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  let passed = 0
  for await (const chunk of body) {
    passed += chunk.length
    onBytes(passed)
    yield chunk
  }
}

/**
 * Uploads a local file. An upload of a large file continues where the same command stopped, if the file has not changed.
 * @returns the path of the stored file
 * @throws StowageError, and system errors of the local file
 */
async function uploadFile(
  server: Server,
  { local, target }: { local: string; target: RemotePath },
  { conflict, records, signal, onBytes }: CopyFileOptions & { records: UploadRecords },
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
