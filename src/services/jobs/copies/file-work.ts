/** One file of a kept folder: the original with its copies, what is known of them, and what a job notes about them. */
import { formatPath } from '../../../auth/path.ts'
import type { ContentVersion } from '../../../db/content-checksums.ts'
import type { NewJobEntry } from '../../../db/jobs/entries.ts'
import { findKept, type KeptFile, type KeptPath, keptAt } from '../../../db/kept-files.ts'
import type { CopyFinding, CopyKeeping, FindingKind, LocationCheck } from '../../../db/schema.ts'
import type { Reason } from '../../../errors.ts'
import type { ReadLocation } from '../../../storage/read-location.ts'
import type { CheckedEntry } from '../../../storage/validate-entry.ts'
import { statOrNull } from '../../files/conflict.ts'
import { timeResolution } from '../../files/copying.ts'
import type { JobRun, Tally } from '../job-run.ts'
import { type ReadContent, readWhole } from '../reading.ts'
import { type ContentRecord, claimOf, isUnwritten, type SeenFile } from './judge.ts'
import { noCounts } from './report.ts'

/** The original or one of its copies. */
export interface Side {
  /** The number of the source of the job. */
  source: number
  location: ReadLocation
  file: CheckedEntry | null
  /** The content that this server wrote or read last at the path. */
  known: ContentRecord | null
  /** The content on which the original and this copy agreed; null for the original. */
  row: KeptFile | null
}

export interface FileWork {
  run: JobRun
  tally: Tally
  /** The entry of the job to which failures and repairs of the file belong. */
  at: Omit<NewJobEntry, 'state'>
  path: KeptPath
  original: Side
  copies: readonly Side[]
  /** The content of the original; null until somebody has read it, if nobody knows it. */
  content: Buffer | null
  /** The only copy that is worked on, by the number of its source; null for all. */
  only: number | null
  /** The original is damaged, or changes while it is read, so its copies stay as they are. */
  isBlocked: boolean
  reads: Map<Side, Promise<ReadContent | null>>
  /** The repairs that are planned. */
  found: NewJobEntry[]
}

export function keepingOf({ job }: JobRun): CopyKeeping {
  if (!job.keeping) throw new Error('This job keeps no copies')
  return job.keeping
}

/** Returns the locations of a path below the kept folder: the original, and then its copies. */
export function locationsAt(run: JobRun, path: KeptPath): [ReadLocation, ...ReadLocation[]] {
  const [original, ...copies] = run.sources.map(source => source.at(keptAt(source.path, path)))
  if (!original) throw new Error('This job has no original')
  return [original, ...copies]
}

/** Returns the providers of all sources. All work takes their turns in this order. */
export function providersOf({ sources }: JobRun): string[] {
  return sources.map(({ providerId }) => providerId)
}

/** Loads what is known of files of a folder. @param names at most a page of a listing */
export async function rowsAt(run: JobRun, folder: string, names: readonly string[]): Promise<RowsAt> {
  const rows = await findKept(run.db, run.keptFolders, folder, names)
  const byKey = new Map(rows.map(row => [`${row.keptFolder} ${row.name}`, row]))
  return (source, name) => byKey.get(`${run.keptFolders[source - 1]} ${name}`) ?? null
}

/** Returns what the original and the copy in a source agreed on; null if they have not. */
export type RowsAt = (source: number, name: string) => KeptFile | null

/** @param files of the original and its copies */
export async function workOn(
  run: JobRun,
  tally: Tally,
  path: KeptPath,
  { rows, files, depth }: { rows: RowsAt; files: readonly (CheckedEntry | null)[]; depth: number },
): Promise<FileWork> {
  const locations = locationsAt(run, path)
  const [original, ...copies] = await Promise.all(
    locations.map(async (location, source): Promise<Side> => {
      const [known, file] = await Promise.all([location.known(), exactly(run, location, files[source] ?? null)])
      const record = known && { sha256: known.sha256, version: known }
      return { source, location, file, known: record, row: source === 0 ? null : rows(source, path.name) }
    }),
  )
  if (!original) throw new Error('This job has no original')
  const { providerId } = original.location
  const at = { providerId, path: formatPath(original.location.path), targetPath: null, depth, isNewTarget: false }
  return {
    run,
    tally,
    at,
    path,
    original,
    copies,
    content: null,
    only: null,
    isBlocked: false,
    reads: new Map(),
    found: [],
  }
}

/** Listings can have coarser times, which say nothing about versions. */
function exactly(
  { signal }: JobRun,
  location: ReadLocation,
  file: CheckedEntry | null,
): Promise<CheckedEntry | null> | CheckedEntry | null {
  return file?.kind === 'file' && location.traits.listedTimePrecision !== undefined
    ? statOrNull(location, signal)
    : file
}

/** Returns what is known of the content of one side, for `claimOf` and `stateOf`. */
export function seenOf({ copies }: Pick<FileWork, 'copies'>, side: Side, file: CheckedEntry): SeenFile {
  const rows = copies.flatMap(({ row }) => row ?? [])
  const own = side.row && { sha256: side.row.sha256, version: side.row.copy }
  return { file, known: side.known, kept: side.source === 0 ? keptOfOriginal(rows, file) : own }
}

/** The copies can have agreed with different contents of the original: the one of the present version counts, or else the latest. */
function keptOfOriginal(rows: readonly KeptFile[], file: CheckedEntry): ContentRecord | null {
  const latest = latestFirst(rows)
  const row = latest.find(({ original }) => isUnwritten(original, file)) ?? latest[0]
  return row ? { sha256: row.sha256, version: row.original } : null
}

/** Sorts what copies agreed on with their original by the time of the check. */
export function latestFirst(rows: readonly KeptFile[]): KeptFile[] {
  return rows.toSorted((a, b) => b.checkedAt.getTime() - a.checkedAt.getTime())
}

/** Reads a side once. Returns null if it changes meanwhile, or is not there. */
export function readSide({ run, tally, reads }: FileWork, side: Side): Promise<ReadContent | null> {
  const earlier = reads.get(side)
  if (earlier) return earlier
  const reading = readWhole(run, side.location).then(read => {
    const counts = checkOf(run, tally, side.source)
    counts.readFiles += 1
    counts.readBytes += read?.entry.size ?? 0
    if (read) side.file = read.entry
    return read
  })
  reads.set(side, reading)
  // A retry reads again.
  reading.catch(() => reads.delete(side))
  return reading
}

/** Returns whether the copies have agreed with different contents of the version that the original has. */
export function isContested({ original: { file }, copies }: FileWork): boolean {
  const agreed = copies.flatMap(({ row }) =>
    file && row && isUnwritten(row.original, file) ? row.sha256.toString('hex') : [],
  )
  return new Set(agreed).size > 1
}

/** Returns what the content of a side should be, if nobody has changed it. */
export function claimAt(work: FileWork, side: Side): Buffer | null {
  return side.file && claimOf(seenOf(work, side, side.file))
}

/**
 * Stores that a copy has the content of its original.
 * @param options.isOriginalKnown false if the original has changed since, so that the next run looks at it again
 */
export async function agree(
  work: FileWork,
  copy: Side,
  sha256: Buffer,
  { checkedAt, isOriginalKnown = true }: { checkedAt: Date; isOriginalKnown?: boolean },
): Promise<void> {
  const { run, original, path } = work
  const keptFolder = run.keptFolders[copy.source - 1]
  if (!original.file || !copy.file || keptFolder === undefined) return
  const nothing = { size: -1, modifiedAt: null, etag: null, contentTag: null }
  const versions = { original: isOriginalKnown ? versionOf(original.file) : nothing, copy: versionOf(copy.file) }
  await run.storeKept({ keptFolder, ...path, ...versions, sha256, checkedAt })
}

/** Returns the version of a file, without a time that a later write could have, too. */
function versionOf(file: CheckedEntry): ContentVersion {
  const { size, modifiedAt, etag, contentTag = null } = file
  const isSettled = modifiedAt !== null && Date.now() - modifiedAt.getTime() > timeResolution
  return { size: size ?? 0, modifiedAt: isSettled ? modifiedAt : null, etag, contentTag }
}

// The notes of a job.

/** Returns the counts of a source. */
export function checkOf(run: JobRun, tally: Tally, source: number): LocationCheck {
  while (tally.checks.length < run.sources.length) {
    tally.checks.push({ ...noCounts })
  }
  const counts = tally.checks[source]
  if (!counts) throw new Error(`This job has no source ${source}`)
  return counts
}

/** @param source its number */
export function findingOf(kind: FindingKind, source: number): CopyFinding {
  return { kind, source, from: null, at: Date.now(), sha256: null, seen: null }
}

/** Lists a file as a failure. */
export function report(
  work: FileWork,
  side: Side,
  found: { kind: FindingKind; reason: Reason; message: string },
): void {
  const { run, tally, at } = work
  const { kind, reason, message } = found
  countFinding(work, side, kind)
  tally.fail(run, { ...at, state: 'FILE', finding: findingOf(kind, side.source), isStarted: true, reason, message })
}

export function countFinding(
  { run, tally }: Pick<FileWork, 'run' | 'tally'>,
  { source }: Pick<Side, 'source'>,
  kind: FindingKind,
): void {
  const counts = checkOf(run, tally, source)
  if (kind === 'DAMAGED' || kind === 'UNCLEAR') counts.damaged += 1
  else if (kind === 'MISSING') counts.missing += 1
  else if (kind === 'CHANGED') counts.changed += 1
}

export function nameOfSide({ source, location }: Side): string {
  const name = `"${formatPath(location.path)}"`
  return source === 0 ? name : `${name} in copy ${source}`
}
