/** A stored file, as the server gives it to the processes that decode it, and the name of what they make of it in the cache. */
import { createHash } from 'node:crypto'
import { formatPath } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'

/** Reads a part of a file, of the version that was looked up: nothing past its end. */
export async function* originalOf(
  location: ReadLocation,
  entry: CheckedEntry,
  { offset, length }: { offset: number; length: number },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  // Damaged files name parts that they do not have.
  if (entry.size !== null && offset >= entry.size) return
  const isWhole = offset === 0 && length === entry.size
  const reading = location.read(signal, {
    seen: entry,
    ...(entry.etag !== null && { ifMatch: entry.etag }),
    ...(!isWhole && { range: { offset, length } }),
  })
  const read = await reading.catch(error => {
    if (entry.size === null && error instanceof AppError && error.reason === 'RANGE_NOT_SATISFIABLE') return null
    throw error
  })
  if (read) yield* read.body
}

/** Part of each cache key. Increase it when decoders make something else of the same files. */
const version = 1

/** The path is part of the key, because some back ends use an etag for several files. @param kind what is made of the file */
export function keyOf({ providerId, path }: ReadLocation, entry: CheckedEntry, kind: readonly unknown[]): string {
  const content = [entry.etag, entry.size, entry.modifiedAt?.getTime() ?? null]
  return createHash('sha256')
    .update(JSON.stringify([version, providerId, formatPath(path), content, kind]))
    .digest('hex')
}
