/**
 * Copies of a folder that jobs keep in other storages. A folder and its copies enter, and complete copies leave, with
 * a report of each difference.
 *
 * This file runs KEEP_COPIES. It walks the original, and then looks for files of it that are gone. It stores each repair as an
 * entry of the job first, so that a report names it even if the server is killed in the middle.
 */
import { formatPath, isWithin, nameOf, parentOf, parsePath, root, type StoragePath } from '../../../auth/path.ts'
import { commitStep, type JobEntry, type NewJobEntry } from '../../../db/jobs/entries.ts'
import { fitsKept, hasKept, type KeptPath } from '../../../db/kept-files.ts'
import { AppError } from '../../../errors.ts'
import { allDone } from '../../../lib/limiter.ts'
import type { ReadLocation } from '../../../storage/read-location.ts'
import type { CheckedEntry } from '../../../storage/validate-entry.ts'
import { isMissing, statOrNull } from '../../files/conflict.ts'
import { requireOutside } from '../../files/copying.ts'
import { requireDepth } from '../../files/tree.ts'
import { FolderNames, maxKept, PageReader } from '../folders.ts'
import { childPath, type JobRun, sourceAt, type Tally, withTally, writable } from '../job-run.ts'
import { countFinding, findingOf, locationsAt, providersOf, type RowsAt, rowsAt, workOn } from './file-work.ts'
import { keepFile } from './keep-file.ts'
import { keepLost } from './lost.ts'

/** Works on the original, or on a file that failed before. */
export async function keepOne(run: JobRun, entry: JobEntry): Promise<void> {
  await withTally(run, async tally => {
    const found: NewJobEntry[] = []
    const isDone = await tally.attempt(run, entry, async () => {
      if (entry.state === 'SOURCE') found.push(...(await begin(run, entry)))
      else found.push(...(await keepAgain(run, tally, entry)))
      return true
    })
    // The file stays what it was found to be.
    if (!isDone && entry.finding) countFinding({ run, tally }, entry.finding, entry.finding.kind)
    await commitStep(run.db, run, entry, { next: { kind: 'done' }, found, done: tally })
  })
}

/** @throws NOT_FOUND, NOT_A_FOLDER, INTO_ITSELF; PRECONDITION_FAILED if everything is gone */
async function begin(run: JobRun, entry: JobEntry): Promise<NewJobEntry[]> {
  const { signal, sources, targetFolders, sourceFolders } = run
  const [original, ...copies] = sources
  if (!original) throw new Error('This job has no original')
  const top = await original.stat(signal)
  if (top.kind !== 'directory') throw new AppError('NOT_A_FOLDER', 'Copies are kept of a folder: choose one.')
  requireOutside(top, original, targetFolders)
  await requireMounted(run, original, run.keptFolders)
  for (const [index, copy] of copies.entries()) {
    await requireMounted(run, copy, run.keptFolders.slice(index, index + 1))
    const existing = await statOrNull(copy, signal)
    if (existing?.fileId && sourceFolders.has(existing.fileId)) {
      throw new AppError('INTO_ITSELF', 'A copy contains the original, through another storage: choose another folder.')
    }
    if (!existing) await writable(copy).mkdir(signal, { exclusive: false })
  }
  const { id: _own, ...at } = entry
  return [
    { ...at, state: 'FOLDER', cursor: null },
    { ...at, state: 'EXTRA', cursor: null },
  ]
}

/** A folder that had files and has none is probably that of a disk which is not mounted. @throws PRECONDITION_FAILED */
async function requireMounted(
  { db, signal }: JobRun,
  top: ReadLocation,
  keptFolders: readonly number[],
): Promise<void> {
  const { entries } = await top.list(signal, { cursor: null, limit: 1 }).catch((error: unknown) => {
    if (isMissing(error)) return { entries: [] }
    throw error
  })
  if (entries.length > 0 || !(await hasKept(db, keptFolders, 2))) return
  const message = `"${formatPath(top.path)}" is empty, although it had files. If its disk is not mounted, mount it. If you have emptied it yourself, put one file there, which need not be of the folder.`
  throw new AppError('PRECONDITION_FAILED', message)
}

/** @returns the repairs of a file */
async function keepAgain(run: JobRun, tally: Tally, entry: JobEntry): Promise<NewJobEntry[]> {
  const path = keptPathOf(run, sourceAt(run, entry))
  const locations = locationsAt(run, path)
  const files = await Promise.all(locations.map(location => statOrNull(location, run.signal)))
  const rows = await rowsAt(run, path.folder, [path.name])
  const work = await workOn(run, tally, path, { rows, files, depth: entry.depth })
  // Each copy that has failed has an entry of its own.
  work.only = entry.finding?.source || null
  if (work.original.file) await keepFile(work)
  else await run.limits.run(providersOf(run), () => keepLost(work))
  return work.found
}

/** Returns where a file of the original is below it. */
export function keptPathOf(run: JobRun, { path }: ReadLocation): KeptPath {
  return { folder: pathBelow(run, parentOf(path)), name: nameOf(path) }
}

/** Returns the path of a folder of the original below the kept folder. */
function pathBelow({ sources }: JobRun, folder: StoragePath): string {
  const top = sources[0]?.path ?? root
  return isWithin(folder, top) ? folder.slice(top === root ? 0 : top.length + 1) : ''
}

/** Works on a folder of the original page by page. Its folders become entries of the job. */
export async function keepFolder(run: JobRun, entry: JobEntry): Promise<void> {
  const opened = await withTally(run, async tally => {
    const folder = await tally.attempt(run, entry, () => open(run, entry))
    if (!folder) await commitStep(run.db, run, entry, { next: { kind: 'done' }, found: [], done: tally })
    return folder
  })
  if (!opened) return
  let { cursor } = entry
  do {
    cursor = await withTally(run, tally => keepPage(run, tally, entry, opened, cursor))
    run.signal.throwIfAborted()
    if (cursor !== null) run.turn.throwIfAborted()
  } while (cursor !== null)
}

interface KeptFolder {
  original: ReadLocation
  /** Below the kept folder. */
  folder: string
  pages: PageReader
  copies: { location: ReadLocation; names: FolderNames }[]
}

async function open(run: JobRun, entry: JobEntry): Promise<KeptFolder> {
  requireDepth(entry.depth)
  const original = sourceAt(run, entry)
  const folder = pathBelow(run, original.path)
  const copies = run.sources.slice(1)
  const max = Math.floor(maxKept / copies.length)
  const opened = copies.map(async copy => {
    const location = folder === '' ? copy : copy.at(parsePath(childPath(copy.path, folder)))
    return { location, names: await FolderNames.load(location, { isEmpty: false, max, signal: run.signal }) }
  })
  return { original, folder, pages: new PageReader(entry), copies: await Promise.all(opened) }
}

async function keepPage(
  run: JobRun,
  tally: Tally,
  entry: JobEntry,
  kept: KeptFolder,
  cursor: string | null,
): Promise<string | null> {
  const found: NewJobEntry[] = []
  const { original, folder } = kept
  const page = await tally.attempt(run, { ...entry, cursor }, isRetry =>
    kept.pages.read(original, { cursor, isRetry }, run.signal),
  )
  const entries = page?.entries ?? []
  const files = entries.filter(({ kind }) => kind === 'file').map(({ name }) => name)
  const rows = await rowsAt(run, folder, files)
  const keep = async (child: CheckedEntry) => {
    const path = childPath(original.path, child.name)
    const at = { providerId: entry.providerId, path, targetPath: null, depth: entry.depth + 1, isNewTarget: false }
    if (child.kind === 'directory') {
      const isKept = await tally.attempt(run, { ...at, state: 'FOLDER' }, () => makeFolders(run, kept, child))
      if (isKept) found.push({ ...at, state: 'FOLDER' })
      return
    }
    const failing = { ...at, state: 'FILE', finding: findingOf('FAILED', 0) } as const
    await tally.attempt(run, failing, () => keepChild(run, tally, kept, { child, rows, found, depth: at.depth }))
  }
  await allDone(entries.map(keep))
  const next = page?.cursor ?? null
  const following = next === null ? ({ kind: 'done' } as const) : ({ kind: 'page', cursor: next } as const)
  await commitStep(run.db, run, entry, { next: following, found, done: tally })
  return next
}

/** Creates a folder of the original in its copies. @throws INTO_ITSELF, NOT_A_FOLDER */
async function makeFolders(run: JobRun, { original, copies }: KeptFolder, child: CheckedEntry): Promise<true> {
  requireOutside(child, original, run.targetFolders)
  for (const { location, names } of copies) {
    const existing = await names.find(child.name)
    if (existing?.kind === 'file') {
      throw new AppError(
        'NOT_A_FOLDER',
        `"/${location.path}/${child.name}" is a file in a copy, where the original has a folder.`,
      )
    }
    const folder = writable(location.child(child.name))
    if (!existing) await folder.mkdir(run.signal, { exclusive: false })
  }
  return true
}

async function keepChild(
  run: JobRun,
  tally: Tally,
  { folder, copies }: KeptFolder,
  { child, rows, found, depth }: { child: CheckedEntry; rows: RowsAt; found: NewJobEntry[]; depth: number },
): Promise<void> {
  const path = { folder, name: child.name }
  if (!fitsKept(path)) throw new AppError('INVALID_PATH', 'The path is too long for a kept copy: use a shorter one.')
  const files = [child, ...(await Promise.all(copies.map(({ names }) => names.find(child.name))))]
  const work = await workOn(run, tally, path, { rows, files, depth })
  await keepFile(work)
  found.push(...work.found)
}
