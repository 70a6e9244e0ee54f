/** Copies files. */
import { createHash } from 'node:crypto'
import { nameOf } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import { exactBody } from '../../storage/exact-body.ts'
import { keepsTime, timeToKeep } from '../../storage/kept-time.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull, type Taken, taken, unlessTaken } from './conflict.ts'
import type { CopiedFile } from './copied.ts'
import { differing, requireStored } from './verify-stored.ts'

export interface FileCopyOptions {
  signal: AbortSignal
  overwrite: boolean
  /** True if a copied file must not keep the time of its source: see `prepareDeletion`. */
  isNewTime?: boolean | undefined
  /** Is called for every chunk that passes through this server, with its length in bytes. A promise delays the chunk. */
  onBytes?: (bytes: number) => Promise<unknown> | undefined
}

/**
 * Copies one file within the back end if it supports that, otherwise through this server. Keeps its time where possible,
 * and compares the checksums that both sides have.
 * @throws BACK_END_FAULT if they differ
 */
export async function copyFile(
  source: ReadLocation,
  seen: CheckedEntry,
  destination: WriteLocation,
  { overwrite, signal, isNewTime = false, onBytes }: FileCopyOptions,
): Promise<CopiedFile | Taken> {
  const copied =
    isNewTime && keepsTime(destination, seen)
      ? null
      : await unlessTaken(() => destination.copyFrom(source, signal, { overwrite, seen }))
  if (copied === taken) return taken
  if (copied) {
    await requireCopied(source, seen, destination, copied, { isDeletable: !isNewTime, signal })
    return { seen, copy: copied }
  }
  const { body, entry } = await source.read(signal, { seen })
  const { storedChecksum } = destination.traits
  const hash = storedChecksum && createHash(storedChecksum)
  const onChunk = (bytes: Uint8Array) => {
    hash?.update(bytes)
    return onBytes?.(bytes.length)
  }
  const modifiedAt = isNewTime ? undefined : timeToKeep(entry)
  try {
    const copy = await unlessTaken(() =>
      destination.write(signal, exactBody(body, entry.size, onChunk), {
        overwrite,
        ...(entry.size !== null && { size: entry.size }),
        ...(entry.mimeType !== null && { mimeType: entry.mimeType }),
        ...(modifiedAt && { modifiedAt }),
      }),
    )
    if (copy === taken) return taken
    const computed: [string, string][] = hash ? [[storedChecksum, hash.digest('hex')]] : []
    await requireStored(destination, copy, new Map([...computed, ...sumsOf(entry)]), { isNew: !isNewTime })
    return { seen, copy }
  } finally {
    body.destroy()
  }
}

/**
 * Compares the checksums of a file and its copy, which the back end made.
 * @param seen the entry of the source before the copy
 * @param options.isDeletable whether a damaged copy is deleted, even if it replaced a file. The source still has the content,
 * so it must not be the copy itself.
 * @throws BACK_END_FAULT if they differ
 */
export async function requireCopied(
  source: ReadLocation,
  seen: CheckedEntry,
  destination: WriteLocation,
  copied: CheckedEntry,
  { isDeletable, signal }: { isDeletable: boolean; signal: AbortSignal },
): Promise<void> {
  const isOther = differing(copied, sumsOf(seen)).length > 0
  // The back end may have copied a version that is newer than the listing.
  const version = (isOther && (await statOrNull(source, signal))) || seen
  await requireStored(destination, copied, sumsOf(version), { isNew: isDeletable })
}

function sumsOf({ checksums }: CheckedEntry): ReadonlyMap<string, string> {
  return new Map(Object.entries(checksums))
}

/** @throws INTO_ITSELF if the destination of a copy is inside this folder of its source */
export function requireOutside(folder: CheckedEntry, from: ReadLocation, enclosing: ReadonlySet<string>): void {
  if (folder.fileId === null || !enclosing.has(folder.fileId)) return
  throw new AppError(
    'INTO_ITSELF',
    `The destination lies in the folder "${nameOf(from.path)}", which cannot go into itself.`,
  )
}
