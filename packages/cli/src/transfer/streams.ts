/** Copies between a storage and the standard input and output. */
import { Readable } from 'node:stream'
import type { Conflict } from '../../../client/src/index.ts'
import { CommandError, exitCodes } from '../errors.ts'
import type { Output } from '../output.ts'
import type { RemotePath, Server } from '../server.ts'

/** Writes a file to the standard output. @throws CommandError for a folder, and StowageError */
export async function printFile(
  server: Server,
  source: RemotePath,
  { output, signal }: { output: Output; signal: AbortSignal },
): Promise<void> {
  const { kind } = await server.stat(source)
  if (kind === 'folder') throw new CommandError('This is a folder.', 'NOT_A_FILE', exitCodes.failure.code)
  const { providerId, path } = source
  const { body } = await server.stowage.files.download({ providerId, path, signal })
  for await (const chunk of body) await output.content(chunk)
}

/** Uploads the standard input. Resolves with the path and the size of the file. @throws StowageError */
export async function uploadInput(
  server: Server,
  target: RemotePath,
  { conflict, signal, onBytes }: { conflict: Conflict; signal: AbortSignal; onBytes: (bytes: number) => void },
): Promise<{ path: string; size: number }> {
  const { providerId, path } = target
  let size = 0
  const onProgress = (sent: number) => {
    size = sent
    onBytes(sent)
  }
  const body = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>
  const stored = await server.stowage.files.upload({ providerId, path, body, conflict, signal, onProgress })
  return { path: stored, size }
}
