/** Entries as back ends return them, and as the catalogue stores them. */
import { createHash } from 'node:crypto'
import { nameOf, type StoragePath } from '../../auth/path.ts'
import { type CatalogueEntry, type EntryFacts, type KnownEntry, maxCataloguePath } from '../../db/catalogue/entries.ts'
import { AppError, type Reason } from '../../errors.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { textKindOf } from './content/kinds.ts'
import { fold, gramsOfName, gramsOfPath, markWords } from './names.ts'

export function factsOf(entry: CheckedEntry): EntryFacts {
  const { kind, size, modifiedAt, etag, fileId, checksums } = entry
  return {
    isFolder: kind === 'directory',
    size,
    modifiedAt: isStorable(modifiedAt) ? modifiedAt : null,
    etag,
    fileId: fileId === null ? null : createHash('sha256').update(fileId).digest('hex').slice(0, 32),
    checksums: checksums as Readonly<Record<string, string>>,
  }
}

/** PostgreSQL stores the years from -4712 to 294276, and JavaScript more. */
const maxYear = 9999

function isStorable(time: Date | null): boolean {
  return time !== null && Math.abs(time.getUTCFullYear()) <= maxYear && time.getUTCFullYear() > -4000
}

export function toEntry(catalogue: number, path: StoragePath, facts: EntryFacts): CatalogueEntry {
  const name = nameOf(path)
  const folded = fold(name)
  const folders = gramsOfPath(catalogue, path)
  const hasText = !facts.isFolder && textKindOf(name) !== null
  return { ...facts, path, name: markWords(folded), grams: [...gramsOfName(folded), ...folders], folders, hasText }
}

export function isSame(known: KnownEntry, facts: EntryFacts): boolean {
  return (
    known.isFolder === facts.isFolder &&
    known.size === facts.size &&
    known.modifiedAt?.getTime() === facts.modifiedAt?.getTime() &&
    known.etag === facts.etag &&
    known.fileId === facts.fileId &&
    JSON.stringify(sorted(known.checksums)) === JSON.stringify(sorted(facts.checksums))
  )
}

function sorted(checksums: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(checksums).toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** Returns whether an index can hold the path. */
export function fits(path: string): boolean {
  // A UTF-16 code unit has at most three bytes of UTF-8.
  return path.length * 3 <= maxCataloguePath || Buffer.byteLength(path) <= maxCataloguePath
}

const ofGone: ReadonlySet<Reason> = new Set(['NOT_FOUND', 'NOT_A_FOLDER', 'INVALID_PATH'])

/** Returns whether an error says that the entry does not exist. */
export function isGone(error: unknown): boolean {
  return error instanceof AppError && ofGone.has(error.reason)
}

/** Returns whether an error says that the entry does not exist, or that the server may not see it. */
export function isHidden(error: unknown): boolean {
  return isGone(error) || (error instanceof AppError && error.reason === 'BACK_END_REFUSED')
}

/** Returns whether an error concerns one entry only, so that the work on the others goes on. */
export function isOwnFault(error: unknown): boolean {
  return error instanceof AppError && error.reason === 'BACK_END_FAULT'
}
