/** Reads the files of a CHECKSUM whose sizes other files have, too, and keeps the SHA-256 of their contents. */
import { formatPath, parsePath } from '../../auth/path.ts'
import { findCatalogues } from '../../db/catalogue/catalogues.ts'
import {
  type ChecksumRange,
  deleteStaleChecksums,
  type FileToRead,
  findFilesToRead,
} from '../../db/content-checksums.ts'
import { commitStep, type JobEntry } from '../../db/jobs/entries.ts'
import { storeRead } from '../../db/known-contents.ts'
import { AppError } from '../../errors.ts'
import { allDone } from '../../lib/limiter.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { sha256Of } from '../files/content.ts'
import { type JobRun, passingBytes, sourceAt, type Tally, withTally } from './job-run.ts'

/** The files of one step. */
const filesPerStep = 100

/** Reads the files at and below a source. The cursor of the entry is the path after which the next files are. */
export async function checksumSource(run: JobRun, entry: JobEntry): Promise<void> {
  // The catalogue says which files are read, so their number is not that of all files.
  run.progress.forgetTotals()
  const ranges = await rangesOf(run)
  const path = parsePath(entry.path)
  const range = ranges.find(each => each.providerId === entry.providerId && each.path === path)
  let { cursor } = entry
  if (range && cursor === null) await deleteStaleChecksums(run.db, range)
  do {
    cursor = await withTally(run, tally => readSome(run, tally, entry, { range, ranges, cursor }))
    run.signal.throwIfAborted()
    if (cursor !== null) run.turn.throwIfAborted()
  } while (cursor !== null)
}

async function rangesOf({ db, job: { sources } }: JobRun): Promise<ChecksumRange[]> {
  const catalogues = await findCatalogues(db, [...new Set(sources.map(({ providerId }) => providerId))])
  return sources.flatMap(({ providerId, path }) => {
    const catalogue = catalogues.find(each => each.providerId === providerId && each.mode !== 'OFF')
    return catalogue ? { providerId, catalogue: catalogue.id, path: parsePath(path) } : []
  })
}

interface ChecksumStep {
  /** Undefined for a provider without a catalogue. */
  range: ChecksumRange | undefined
  ranges: readonly ChecksumRange[]
  cursor: string | null
}

/** @returns the cursor of the next step; null at the end */
async function readSome(run: JobRun, tally: Tally, entry: JobEntry, step: ChecksumStep): Promise<string | null> {
  const found = await tally.attempt(run, { ...entry, cursor: step.cursor }, async () => {
    if (step.range) return findFilesToRead(run.db, step.range, step.ranges, step.cursor)
    throw new AppError('PRECONDITION_FAILED', 'The search is off for this storage, so no sizes of files are known.')
  })
  const files = found?.files.slice(0, filesPerStep) ?? []
  const isCut = found !== undefined && files.length < found.files.length
  const next = isCut ? (files.at(-1)?.path ?? null) : (found?.next ?? null)
  await allDone(
    files.map(file => {
      const path = formatPath(file.path)
      const at = { ...entry, state: 'FILE', path, cursor: null } as const
      const { id: _own, ...failing } = at
      return tally.attempt(run, failing, () => readOne(run, tally, sourceAt(run, at), file))
    }),
  )
  const following = next === null ? ({ kind: 'done' } as const) : ({ kind: 'page', cursor: next } as const)
  await commitStep(run.db, run, entry, { next: following, found: [], done: tally })
  return next
}

/** Reads a file that failed before. */
export async function checksumFile(run: JobRun, entry: JobEntry): Promise<void> {
  await withTally(run, async tally => {
    await tally.attempt(run, entry, async () => {
      const location = sourceAt(run, entry)
      const { size, modifiedAt, etag } = await location.stat(run.signal)
      await readOne(run, tally, location, { path: location.path, size: size ?? 0, modifiedAt, etag })
    })
    await commitStep(run.db, run, entry, { next: { kind: 'done' }, found: [], done: tally })
  })
}

/** @param file the version that the catalogue has */
async function readOne(run: JobRun, tally: Tally, location: ReadLocation, file: FileToRead): Promise<void> {
  await run.limits.run([location.providerId], async () => {
    run.signal.throwIfAborted()
    const read = run.job.dryRun ? null : await checksumOf(run, location, file)
    if (read) await storeRead(run.db, location, { ...file, contentTag: read.contentTag }, read.sha256)
    if (read || run.job.dryRun) tally.add(file.size)
    else tally.skipped += 1
  })
}

/** Returns null for a file that has changed since, or meanwhile. */
async function checksumOf(
  run: JobRun,
  location: ReadLocation,
  file: FileToRead,
): Promise<{ sha256: Buffer; contentTag: string | null } | null> {
  const { signal } = run
  const { body, entry } = await location.read(signal)
  if (!isVersion(entry, file)) {
    body.destroy()
    return null
  }
  const sha256 = await sha256Of(body, passingBytes(run, location))
  const { contentTag = null } = entry
  return isVersion(await location.stat(signal), file) ? { sha256, contentTag } : null
}

/** Milliseconds by which the times of one version can differ, as some back ends round them in listings. */
const timePrecision = 2000

function isVersion({ size, modifiedAt, etag }: CheckedEntry, version: FileToRead): boolean {
  if (size !== version.size) return false
  if (etag !== null && version.etag !== null) return etag === version.etag
  if (modifiedAt === null || version.modifiedAt === null) return false
  return Math.abs(modifiedAt.getTime() - version.modifiedAt.getTime()) <= timePrecision
}
