/** Decides what a file of a kept folder is, from its version, its bytes and what is known of both: see docs/decisions/011-kept-copies.md. */
import type { ContentVersion } from '../../../db/content-checksums.ts'
import { isSameVersion } from '../../../storage/content-tracker.ts'

/** A content, and the version of the file that had it. */
export interface ContentRecord {
  sha256: Buffer
  version: ContentVersion
}

/** A file as its storage shows it, without its bytes. */
export interface SeenFile {
  file: { size: number | null; modifiedAt: Date | null; etag: string | null; contentTag?: string | null }
  /** The content that this server wrote or read last. */
  known: ContentRecord | null
  /** The content on which the original and the copy agreed. */
  kept: ContentRecord | null
}

/** Returns the content that the present version of the file should have; null if somebody has changed it, or nobody knows it. */
export function claimOf(seen: SeenFile): Buffer | null {
  return valid(seen, seen.known)?.sha256 ?? valid(seen, seen.kept)?.sha256 ?? null
}

function valid({ file }: SeenFile, record: ContentRecord | null): ContentRecord | null {
  return record && isUnwritten(record.version, file) ? record : null
}

/**
 * Returns whether nobody has written to a file since. A file with its size and its exact time was not written to even if its tag is another
 * one: a disk that was copied to a new one has other inode numbers. Times of whole seconds can be those of two writes.
 */
export function isUnwritten(version: ContentVersion, file: SeenFile['file']): boolean {
  if (isSameVersion(version, file)) return true
  if (version.modifiedAt === null || version.size !== file.size || version.modifiedAt.getMilliseconds() === 0)
    return false
  return version.modifiedAt.getTime() === file.modifiedAt?.getTime()
}

/**
 * GOOD: has the content that both agreed on. CHANGED: has another one, which somebody has written, or that nobody knows. DAMAGED: has another
 * one, although nobody has written to it. UNCLEAR: one of its records is wrong, or its size has changed without its time.
 */
export type FileState = 'GOOD' | 'CHANGED' | 'DAMAGED' | 'UNCLEAR'

/** @param read its bytes; `isWrong` if they have another checksum than their storage says */
export function stateOf(seen: SeenFile, read: { sha256: Buffer; isWrong: boolean }): FileState {
  if (hasOtherSizeOnly(seen)) return 'UNCLEAR'
  const [known, kept] = [valid(seen, seen.known), valid(seen, seen.kept)]
  const isAgreed = seen.kept?.sha256.equals(read.sha256) === true
  if (read.isWrong) return 'DAMAGED'
  if (known?.sha256.equals(read.sha256)) return isAgreed ? 'GOOD' : 'CHANGED'
  if (known) return kept && isAgreed ? 'UNCLEAR' : 'DAMAGED'
  if (isAgreed) return 'GOOD'
  return kept ? 'DAMAGED' : 'CHANGED'
}

/** A write changes the time, as what was agreed has a time only if a later write cannot have the same one. */
export function hasOtherSizeOnly(seen: SeenFile): boolean {
  const { file, kept } = seen
  if (!kept || valid(seen, seen.known) || file.modifiedAt === null || file.size === kept.version.size) return false
  return kept.version.modifiedAt?.getTime() === file.modifiedAt.getTime()
}

/** Returns the content that more voices have than the other; null if as many have both, or nobody has the first. */
export function winnerOf(voices: readonly Buffer[], expected: Buffer, found: Buffer): 'EXPECTED' | 'FOUND' | null {
  const count = (content: Buffer) => voices.filter(each => each.equals(content)).length
  const [forExpected, forFound] = [count(expected), count(found)]
  if (forExpected === forFound) return null
  return forExpected > forFound ? 'EXPECTED' : 'FOUND'
}
