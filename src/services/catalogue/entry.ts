/** Entries as back ends return them, and as the catalogue stores them. */
import { hash } from 'node:crypto'
import { nameOf, type StoragePath } from '../../auth/path.ts'
import { type CatalogueEntry, type EntryFacts, type KnownEntry, maxCataloguePath } from '../../db/catalogue/entries.ts'
import type { OutsideChange } from '../../db/catalogue/outside.ts'
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
    fileId: fileId === null ? null : hashOfId(fileId),
    checksums: checksums as Readonly<Record<string, string>>,
  }
}

/** Returns what the catalogue stores of the id of an entry, which may contain the address of the back end. */
export function hashOfId(fileId: string): string {
  return hash('sha256', fileId, 'buffer').readBigInt64BE().toString()
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
  // A search at a file looks for what is in its folder. Each file would have a gram that no other entry has.
  const around = facts.isFolder ? folders : folders.slice(0, -1)
  return {
    ...facts,
    catalogue,
    path,
    name: markWords(folded),
    grams: `{${[...gramsOfName(folded), ...around].join(',')}}`,
    folders,
    hasText,
  }
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

/** Milliseconds by which the times of one version can differ, as some back ends round them in listings. */
const timePrecision = 2000

/**
 * Returns whether an entry has other content than before, or is another entry. Facts that only some lookups show make no difference,
 * nor does the time of a folder, which changes with each entry in it.
 */
export function isOther(known: KnownEntry | undefined, facts: EntryFacts): boolean {
  if (!known || known.isFolder !== facts.isFolder) return true
  if (facts.isFolder) return known.fileId !== null && facts.fileId !== null && known.fileId !== facts.fileId
  if (known.size !== facts.size) return true
  if (known.etag !== null && facts.etag !== null) return known.etag !== facts.etag
  if (known.modifiedAt === null || facts.modifiedAt === null) return false
  return Math.abs(known.modifiedAt.getTime() - facts.modifiedAt.getTime()) > timePrecision
}

/** Returns what differs from the catalogue. @param known the entries before @param changed what they are now */
export function differences(
  known: ReadonlyMap<StoragePath, KnownEntry>,
  removed: readonly Pick<KnownEntry, 'path'>[],
  changed: readonly CatalogueEntry[],
): OutsideChange[] {
  const others = changed.filter(entry => isOther(known.get(entry.path), entry))
  return [
    ...removed.map(({ path }): OutsideChange => ({ kind: 'REMOVED', path })),
    ...others.map(({ path }): OutsideChange => ({ kind: 'WRITTEN', path })),
  ]
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
