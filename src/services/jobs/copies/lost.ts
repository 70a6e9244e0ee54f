/** Finds files that an original had and no longer has: those that were deleted through this server, and those that are lost. */
import { commitStep, type JobEntry, type NewJobEntry } from '../../../db/jobs/entries.ts'
import { forgetKept, hasKept, type KeptPath, keptAt, listKept } from '../../../db/kept-files.ts'
import { allDone } from '../../../lib/limiter.ts'
import { isSameVersion } from '../../../storage/content-tracker.ts'
import { nothingKeeps, statOrNull } from '../../files/conflict.ts'
import { FolderNames } from '../folders.ts'
import { type JobRun, type Tally, withTally, writable } from '../job-run.ts'
import { keepsVersions, removeTree } from '../remove.ts'
import {
  type FileWork,
  findingOf,
  latestFirst,
  locationsAt,
  nameOfSide,
  providersOf,
  type RowsAt,
  readSide,
  report,
  rowsAt,
  type Side,
  workOn,
} from './file-work.ts'
import { repairOrReport } from './keep-file.ts'

/** The number of files that are looked for in one step. */
const filesPerStep = 500

/** Looks for all files that the original and its copies have agreed on. The cursor says where the next ones are. */
export async function keepLostFiles(run: JobRun, entry: JobEntry): Promise<void> {
  let cursor = parseCursor(entry.cursor)
  const names = new OriginalNames(run)
  while (cursor) {
    const at = cursor
    cursor = await withTally(run, tally => lookForSome(run, tally, { entry, at, names }))
    run.signal.throwIfAborted()
    if (cursor) run.turn.throwIfAborted()
  }
}

/** The number of the copy, and the path after which the next files are; null to begin. */
interface LostCursor {
  copy: number
  after: KeptPath | null
}

function parseCursor(cursor: string | null): LostCursor | null {
  return cursor === null ? { copy: 0, after: null } : (JSON.parse(cursor) as LostCursor)
}

async function lookForSome(
  run: JobRun,
  tally: Tally,
  { entry, at, names }: { entry: JobEntry; at: LostCursor; names: OriginalNames },
): Promise<LostCursor | null> {
  const found: NewJobEntry[] = []
  const keptFolder = run.keptFolders[at.copy]
  if (keptFolder === undefined) return null
  const { deleteExtra } = run.job
  const listed = await listKept(run.db, keptFolder, { after: at.after, limit: filesPerStep, deleted: deleteExtra })
  const { id: _own, ...failing } = entry
  for (const [folder, files] of Map.groupBy(listed, each => each.folder)) {
    // A folder that cannot be listed says nothing about what is in it. A retry looks for everything again.
    const gone = await tally.attempt(run, { ...failing, cursor: null }, () => names.missing(folder, files))
    if (!gone) continue
    const rows = await rowsAt(run, folder, gone)
    await allDone(gone.map(name => lookFor(run, tally, { path: { folder, name }, rows, first: at.copy + 1, found })))
  }
  const last = listed.length < filesPerStep ? null : listed.at(-1)
  const isEnd = !last && at.copy + 1 === run.keptFolders.length
  const next = last ? { ...at, after: { folder: last.folder, name: last.name } } : { copy: at.copy + 1, after: null }
  const following = isEnd ? ({ kind: 'done' } as const) : ({ kind: 'page', cursor: JSON.stringify(next) } as const)
  await commitStep(run.db, run, entry, { next: following, found, done: tally })
  return isEnd ? null : next
}

/** The names in the folder of the original that was asked for last. */
class OriginalNames {
  readonly #run: JobRun
  #folder: string | null = null
  #names: FolderNames | null = null

  constructor(run: JobRun) {
    this.#run = run
  }

  async missing(folder: string, files: readonly KeptPath[]): Promise<string[]> {
    const { sources, signal } = this.#run
    const [original] = sources
    if (!original) throw new Error('This job has no original')
    if (this.#folder !== folder || !this.#names) {
      const location = original.at(keptAt(original.path, { folder, name: '' }))
      this.#names = await FolderNames.load(location, { isEmpty: false, signal })
      this.#folder = folder
    }
    const names = this.#names
    const found = await Promise.all(files.map(async ({ name }) => ({ name, entry: await names.find(name) })))
    return found.flatMap(({ name, entry }) => (entry?.kind === 'file' ? [] : [name]))
  }
}

async function lookFor(
  run: JobRun,
  tally: Tally,
  { path, rows, first, found }: { path: KeptPath; rows: RowsAt; first: number; found: NewJobEntry[] },
): Promise<void> {
  // The first copy that has known the file has looked for it already.
  if (run.keptFolders.slice(0, first - 1).some((_, index) => rows(index + 1, path.name))) return
  const none = run.sources.map(() => null)
  const work = await workOn(run, tally, path, { rows, files: none, depth: 1 })
  await tally.attempt(run, { ...work.at, state: 'FILE', finding: findingOf('FAILED', 0) }, async () => {
    work.reads.clear()
    await run.limits.run(providersOf(run), async () => {
      run.signal.throwIfAborted()
      const locations = locationsAt(run, path)
      const files = await Promise.all(locations.map(location => statOrNull(location, run.signal)))
      for (const side of [work.original, ...work.copies]) side.file = files[side.source] ?? null
      // If it has been created meanwhile, the next run looks at it.
      if (work.original.file?.kind !== 'file') await keepLost(work)
    })
  })
  found.push(...work.found)
}

/** Works on a file that the original no longer has. */
export async function keepLost(work: FileWork): Promise<void> {
  const rows = work.copies.flatMap(({ row }) => row ?? [])
  if (rows.some(({ isDeleted }) => isDeleted)) return followDeletion(work)
  const { run, original, copies, path } = work
  const message = `${nameOfSide(original)} is gone, and was not deleted through Stowage.`
  const missing = { kind: 'MISSING', reason: 'NOT_FOUND' } as const
  if (copies.every(({ file }) => !file)) {
    // Nothing is left to restore, so this is reported once, unless it is the only file, whose disk may be away.
    if (await hasKept(run.db, run.keptFolders, 2)) await forgetKept(run.db, run.keptFolders, path)
    return report(work, original, { ...missing, message: `${message} All of its copies are gone, too.` })
  }
  const [latest] = latestFirst(rows)
  const sha256 = original.known?.sha256 ?? latest?.sha256
  if (!sha256) return
  const good = await goodCopy(work, sha256)
  if (good) return repairOrReport(work, original, { kind: 'MISSING', from: good, sha256, message })
  const advice = 'No copy has the content that it had last: look at its copies, and restore one by hand.'
  report(work, original, { ...missing, message: `${message} ${advice}` })
}

async function goodCopy(work: FileWork, sha256: Buffer): Promise<Side | null> {
  for (const copy of work.copies) {
    if (copy.file?.kind !== 'file') continue
    const read = await readSide(work, copy)
    if (read?.sha256.equals(sha256) && !read.isWrong) return copy
  }
  return null
}

/** Deletes the copies of a file that was deleted through this server, if the job does so, and nobody has changed them. */
async function followDeletion(work: FileWork): Promise<void> {
  const { run, tally, copies } = work
  if (!run.job.deleteExtra) return
  for (const copy of copies) {
    const { row, file } = copy
    if (!row) continue
    const keptFolder = run.keptFolders.slice(copy.source - 1, copy.source)
    if (file) {
      const isOurs = copy.known?.sha256.equals(row.sha256) && isSameVersion(copy.known.version, file)
      if (!isSameVersion(row.copy, file) && !isOurs) {
        const message = `${nameOfSide(copy)} was changed there, so it stays, although its original was deleted.`
        report(work, copy, { kind: 'CHANGED', reason: 'PRECONDITION_FAILED', message })
        continue
      }
      const location = writable(copy.location)
      if (!(await run.trash.isOn(location)) && !(await keepsVersions(location))) {
        throw nothingKeeps(location.path)
      }
      await removeTree(run, tally, location, file)
    }
    await forgetKept(run.db, keptFolder, work.path)
  }
}
