/**
 * VERIFY: reads files again, and compares their contents with those that the server has written or read before. If the bytes differ but the
 * version does not, the file is damaged. If the version differs, somebody has changed the file, and the new content becomes known.
 */
import { formatPath, parsePath, type StoragePath } from '../../auth/path.ts'
import { commitStep, deepestListed, finishEntries, type JobEntry, type NewJobEntry } from '../../db/jobs/entries.ts'
import { type KnownContent, listUnread } from '../../db/known-contents.ts'
import { forgetFiles } from '../../db/written-contents.ts'
import { AppError } from '../../errors.ts'
import { allDone } from '../../lib/limiter.ts'
import { isSameVersion } from '../../storage/content-tracker.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { statOrNull } from '../files/conflict.ts'
import { requireDepth } from '../files/tree.ts'
import { PageReader } from './folders.ts'
import { childPath, type JobRun, sourceAt, type Tally, withTally } from './job-run.ts'
import { noteRead, readWhole } from './reading.ts'

/** The number of files that are looked for in one step. */
const missingPerStep = 500

/** Works on a source, or on a file that failed before. Missing files are looked for when all sources have been read. */
export async function verifyOne(run: JobRun, entry: JobEntry): Promise<void> {
  await withTally(run, async tally => {
    const found: NewJobEntry[] = []
    await tally.attempt(run, entry, async () => {
      const location = sourceAt(run, entry)
      const source = await location.stat(run.signal)
      if (source.kind === 'directory') found.push({ ...entry, state: 'FOLDER' })
      else await verifyFile(run, tally, location, { file: source, known: await location.known() })
    })
    if (entry.state === 'SOURCE' && entry.depth === 0) found.push({ ...entry, state: 'LISTED', cursor: null })
    await commitStep(run.db, run, entry, { next: { kind: 'done' }, found, done: tally })
  })
}

/** Reads the files of a folder page by page. Its folders become entries of the job. */
export async function verifyFolder(run: JobRun, entry: JobEntry): Promise<void> {
  const pages = new PageReader(entry)
  let { cursor } = entry
  do {
    cursor = await withTally(run, tally => verifyPage(run, tally, entry, { cursor, pages }))
    run.signal.throwIfAborted()
    if (cursor !== null) run.turn.throwIfAborted()
  } while (cursor !== null)
}

async function verifyPage(
  run: JobRun,
  tally: Tally,
  entry: JobEntry,
  { cursor, pages }: { cursor: string | null; pages: PageReader },
): Promise<string | null> {
  const found: NewJobEntry[] = []
  const folder = sourceAt(run, entry)
  const page = await tally.attempt(run, { ...entry, cursor }, async isRetry => {
    requireDepth(entry.depth)
    return pages.read(folder, { cursor, isRetry }, run.signal)
  })
  const entries = page?.entries ?? []
  const files = await Promise.all(
    entries
      .filter(({ kind }) => kind === 'file')
      .map(async file => {
        const location = folder.child(file.name)
        return { file, location, known: await location.known() }
      }),
  )
  const at = (name: string) => ({
    providerId: entry.providerId,
    path: childPath(folder.path, name),
    targetPath: null,
    depth: entry.depth + 1,
    isNewTarget: false,
  })
  for (const { kind, name } of entries) if (kind === 'directory') found.push({ ...at(name), state: 'FOLDER' })
  await allDone(
    files.map(({ file, location, known }) =>
      tally.attempt(run, { ...at(file.name), state: 'FILE' }, () => verifyFile(run, tally, location, { file, known })),
    ),
  )
  const next = page?.cursor ?? null
  const following = next === null ? ({ kind: 'done' } as const) : ({ kind: 'page', cursor: next } as const)
  await commitStep(run.db, run, entry, { next: following, found, done: tally })
  return next
}

/** @throws DAMAGED, and as the back end */
async function verifyFile(
  run: JobRun,
  tally: Tally,
  location: ReadLocation,
  { file, known }: { file: CheckedEntry; known: KnownContent | null },
): Promise<void> {
  const { job, limits, signal, db } = run
  await limits.run([location.providerId], async () => {
    signal.throwIfAborted()
    if (job.dryRun || isReadAlready(run, file, known)) return tally.add(file.size)
    const read = file.isExport ? null : await readWhole(run, location)
    // An export differs each time, and a file that changes while it is read has no single content.
    if (!read) {
      tally.skipped += 1
      return
    }
    const { entry, sha256, isWrong } = read
    if (isWrong) throw damaged(location, null)
    if (known && isSameVersion(known, entry) && !known.sha256.equals(sha256)) throw damaged(location, known)
    await noteRead(db, location, read)
    tally.add(entry.size)
  })
}

/** A run that was interrupted has read the file. */
function isReadAlready({ job }: JobRun, file: CheckedEntry, known: KnownContent | null): boolean {
  if (!known?.readAt || !job.startedAt || known.readAt < job.startedAt) return false
  // Some listings lack the time of a file.
  return file.modifiedAt !== null && isSameVersion(known, file)
}

function damaged({ path }: ReadLocation, known: KnownContent | null): AppError {
  const since = known?.readAt ? `when it was read on ${known.readAt.toISOString()}` : 'when it was written'
  const what = known ? `had other bytes ${since}` : 'has another checksum at the storage'
  const message = `"${formatPath(path)}" is damaged: it ${what}, and nothing has changed it since. Restore it from a copy.`
  return new AppError('DAMAGED', message)
}

/**
 * Looks for the files of the sources that are known but that the job has not read. A file that is gone fails, unless it was deleted or moved
 * through this server. It is then forgotten, so it fails only once.
 */
export async function findMissing(run: JobRun): Promise<void> {
  for (;;) {
    const [entry] = await deepestListed(run.db, run.job.id, 1)
    if (!entry) return
    await findMissingIn(run, entry)
  }
}

async function findMissingIn(run: JobRun, entry: JobEntry): Promise<void> {
  const { db, job } = run
  const source = sourceAt(run, entry)
  const since = job.startedAt ?? job.createdAt
  let after: string = entry.cursor === null ? '' : parsePath(entry.cursor)
  for (let isMore = !job.dryRun; isMore; ) {
    const unread = await listUnread(db, source, { since, after, limit: missingPerStep })
    isMore = unread.length === missingPerStep
    after = unread.at(-1)?.path ?? after
    const gone = await withTally(run, async tally => {
      const missing = await lookFor(run, tally, source, unread)
      const next = { kind: 'page', cursor: formatPath(after as StoragePath) } as const
      await commitStep(db, run, entry, { next, found: [], done: tally })
      return missing
    })
    // A forgotten file is recorded as a failure already.
    await forgetFiles(
      db,
      gone.map(path => ({ providerId: source.providerId, path })),
    )
    run.signal.throwIfAborted()
    if (isMore) run.turn.throwIfAborted()
  }
  await withTally(run, tally => finishEntries(db, run, [entry.id], { kept: [], done: tally }))
}

/** Returns the paths of the files that are gone. */
async function lookFor(
  run: JobRun,
  tally: Tally,
  source: ReadLocation,
  files: readonly KnownContent[],
): Promise<StoragePath[]> {
  const gone: StoragePath[] = []
  const look = (file: KnownContent) => async () => {
    if (await statOrNull(source.at(file.path), run.signal)) return
    gone.push(file.path)
    const message = `"${formatPath(file.path)}" is gone, and was not deleted through this server. Restore it from a copy.`
    throw new AppError('NOT_FOUND', message)
  }
  await allDone(
    files.map(file => {
      const path = formatPath(file.path)
      const at = {
        state: 'FILE',
        providerId: source.providerId,
        path,
        targetPath: null,
        depth: 1,
        isNewTarget: false,
      } as const
      return run.limits.run([source.providerId], () => tally.attempt(run, at, look(file)))
    }),
  )
  return gone
}
