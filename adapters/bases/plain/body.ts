import { Readable } from 'node:stream'
import { type Call, StorageError, type StoragePath } from '../../contract.ts'
import type { Facts, PlainFiles } from './files.ts'

/** The number of attempts to continue without getting another byte. */
const maxTries = 3

export interface Content extends Call {
  facts: Facts
  /** The bytes `start` to `end - 1`. */
  start: number
  end: number
}

/** Resolves once the server has begun to send. The body continues after a lost connection while the file is unchanged. */
export async function openBody(files: PlainFiles, path: StoragePath, content: Content): Promise<Readable> {
  const chunks = chunksOf(files, path, content)
  const first = await chunks.next()
  async function* all() {
    if (!first.done) yield first.value
    yield* chunks
  }
  // A generator that was never read does not end the one inside.
  return Readable.from(all(), { objectMode: false }).once('close', () => void chunks.return())
}

async function* chunksOf(files: PlainFiles, path: StoragePath, content: Content): AsyncGenerator<Uint8Array, void> {
  const { facts, end, signal } = content
  for (let [position, tries] = [content.start, 0]; position < end; ) {
    try {
      for await (const chunk of files.receive(path, { signal, facts, start: position, end })) {
        yield chunk.subarray(0, end - position)
        position += chunk.length
        tries = 0
        if (position >= end && end !== facts.size) return
      }
      if (position < end) throw new StorageError('UNAVAILABLE', 'The file became shorter while it was read: try again.')
    } catch (error) {
      signal.throwIfAborted()
      if (++tries > maxTries || !isUnavailable(error)) throw error
      const now = await files.find(path, { signal })
      if (now?.size !== facts.size || now?.modifiedAt?.getTime() !== facts.modifiedAt?.getTime()) throw error
    }
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'UNAVAILABLE'
}
