import type { Conflict } from '../../../client/src/index.ts'
import { saveFile } from '../local/save-file.ts'
import type { RemotePath, Server } from '../remote/server.ts'

interface DownloadFileOptions {
  conflict: Conflict
  signal: AbortSignal
  /** Called with the bytes that have arrived. */
  onBytes: (bytes: number) => void
}

/**
 * Downloads a file, whose content is compared with its checksum if the back end has one. Its folder must exist.
 * @returns the path of the local file
 * @throws CommandError, StowageError, and system errors of the local file
 */
export async function downloadFile(
  server: Server,
  { source, local, listedTime }: { source: RemotePath; local: string; listedTime: Date | null },
  { conflict, signal, onBytes }: DownloadFileOptions,
): Promise<string> {
  const { providerId, path } = source
  const { body, modifiedAt } = await server.stowage.files.download({ providerId, path, signal })
  // The header has whole seconds, and the listing may be older than the content.
  const isSameSecond = listedTime && Math.floor(listedTime.getTime() / 1000) * 1000 === modifiedAt?.getTime()
  const time = isSameSecond ? listedTime : modifiedAt
  return saveFile(local, { body: counted(body, onBytes), modifiedAt: time }, conflict)
}

/** Passes bytes on, and reports how many have passed. */
export async function* counted(
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
