/**
 * Updates the known contents of files with each change that the server makes: it stores the checksums of what is written, and follows what
 * is moved or deleted. If a checksum is lost, as when the server is killed, the content becomes unknown, but never wrong.
 */
import { isReservedName, type StoragePath, segmentsOf } from '../auth/path.ts'
import type { Database } from '../db/client.ts'
import type { FileAt } from '../db/content-checksums.ts'
import { findKnown, type KnownContent } from '../db/known-contents.ts'
import { batched } from '../db/lookups.ts'
import {
  fitsTable,
  forgetDeletedFiles,
  forgetDeletedTree,
  moveTree,
  noteGone,
  storeWritten,
  type WrittenContent,
} from '../db/written-contents.ts'
import { DelayedWrites } from '../lib/delayed-writes.ts'
import { UnfinishedContents } from './content-hash.ts'
import type { CheckedEntry } from './validate-entry.ts'

/** Milliseconds that a checksum waits for others. */
const delay = 50
/** Checksums that wait at the same time. While the database does not respond, any more are lost. */
const maxWaiting = 10_000

export type ContentTracker = ReturnType<typeof createContentTracker>

export function createContentTracker({ db, onError }: { db: Database; onError: (error: unknown) => void }) {
  let waiting = 0
  const writes = new DelayedWrites<WrittenContent | null>(delay, async contents => {
    waiting = 0
    const stored = [...contents.values()].filter(content => content !== null)
    if (stored.length > 0) await storeWritten(db, stored).catch(onError)
  })
  const forget = batched(async (files: readonly FileAt[]) => {
    await forgetDeletedFiles(db, files)
    return new Map<FileAt, true>()
  })

  const find = batched<FileAt, KnownContent>(async files => {
    const found = new Map((await findKnown(db, files)).map(known => [keyOf(known), known]))
    return new Map(
      files.flatMap(file => {
        const known = found.get(keyOf(file))
        return known ? [[file, known] as const] : []
      }),
    )
  })

  async function change(path: StoragePath, work: () => Promise<unknown>): Promise<void> {
    if (isReserved(path)) return
    try {
      await writes.flush()
      await work()
    } catch (error) {
      onError(error)
    }
  }

  return {
    unfinished: new UnfinishedContents(),

    /** @param sha256 null if the content is unknown */
    wrote({ providerId, path }: FileAt, entry: CheckedEntry, sha256: Buffer | null): void {
      const { size, modifiedAt, etag, contentTag = null } = entry
      const isKnown = sha256 && size !== null && (etag !== null || modifiedAt !== null)
      if (!isKnown || isReserved(path) || !fitsTable(path) || waiting >= maxWaiting) return
      waiting += 1
      const content = { providerId, path, size, modifiedAt, etag, contentTag, sha256 }
      writes.put(keyOf(content), earlier => {
        // The same version has two contents, so neither can be trusted.
        const isUnclear = earlier && isSameVersion(earlier, content) && !earlier.sha256.equals(sha256)
        return isUnclear ? null : content
      })
    },

    /** Returns the known content of a file, or null. The file may have changed since. */
    known: (at: FileAt): Promise<KnownContent | null> => find(at),

    /** Notes that an entry is about to be moved, with everything in it. If the move fails, the next check corrects it. Never rejects. */
    leaves: (at: FileAt) => change(at.path, () => noteGone(db, at)),

    /** Forgets a file that is about to be deleted, or a folder with everything in it. Never rejects. */
    deleted: (at: FileAt, { isTree }: { isTree: boolean }) =>
      change(at.path, () => (isTree ? forgetDeletedTree(db, at) : forget(at))),

    /** Follows an entry that has moved. Never rejects. */
    moved: (from: FileAt, to: StoragePath) =>
      change(from.path, () => (isReserved(to) ? forgetDeletedTree(db, from) : moveTree(db, from, to))),

    close: () => writes.flush(),
  }
}

function keyOf({ providerId, path }: FileAt): string {
  return `${providerId}/${path}`
}

function isReserved(path: StoragePath): boolean {
  return segmentsOf(path).some(isReservedName)
}

/** The facts that tell one version of a file from another. */
interface FileFacts {
  size: number | null
  modifiedAt: Date | null
  etag: string | null
  contentTag?: string | null
}

/**
 * Returns whether a file has the same version as before, so that its content should be the same. A write to the file normally changes at
 * least one of the facts.
 */
export function isSameVersion(known: FileFacts, file: FileFacts): boolean {
  if (known.size === null || known.size !== file.size) return false
  if (known.contentTag != null && file.contentTag != null) return known.contentTag === file.contentTag
  if (known.etag !== null && file.etag !== null) return known.etag === file.etag
  return known.modifiedAt !== null && known.modifiedAt.getTime() === file.modifiedAt?.getTime()
}
