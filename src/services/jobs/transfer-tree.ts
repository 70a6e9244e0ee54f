/** COPY, MOVE and SYNC: works on one entry of a job at a time and stores the folders that it finds for later. */
import { formatPath, nameOf, parsePath, type StoragePath } from '../../auth/path.ts'
import { commitStep, type JobEntry, type NewJobEntry } from '../../db/jobs/entries.ts'
import { maxPageSize, type ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { isMissing, statOrNull, taken, unlessTaken } from '../files/conflict.ts'
import { requireOutside } from '../files/copying.ts'
import { requireDepth } from '../files/tree.ts'
import { FolderNames } from './folder-names.ts'
import { childPath, type JobRun, sourceAt, type Tally, targetAt, withTally, writable } from './job-run.ts'
import { allDone } from './limiter.ts'
import { openFolder } from './target-folder.ts'
import { transferFile } from './transfer-file.ts'
import { transferSource } from './transfer-source.ts'

/**
 * Works on a source as the job names it: a file, or the top of a tree. It also works on single files that failed
 * before.
 */
export async function transferOne(run: JobRun, entry: JobEntry): Promise<void> {
  await withTally(run, async tally => {
    const found: NewJobEntry[] = []
    await tally.attempt(run, entry, async () => {
      const [from, to] = [sourceAt(run, entry), targetAt(run, entry.targetPath)]
      const source = await from.stat(run.signal).catch(error => missingOnceMoved(run, entry, to, error))
      if (!source) return tally.add(null)
      const folder = await transferSource(run, tally, { from, source, to, isRepeated: entry.isStarted })
      if (folder) found.push({ ...folder, providerId: entry.providerId, path: entry.path, depth: entry.depth })
    })
    const next = { kind: 'done' } as const
    await commitStep(run.db, run, entry, { next, found, done: tally })
  })
}

/** An interrupted run may have moved the source already. @returns null if so @throws `error` if not */
async function missingOnceMoved(
  run: JobRun,
  entry: JobEntry,
  to: WriteLocation,
  error: unknown,
): Promise<CheckedEntry | null> {
  const isMoved = run.job.kind === 'MOVE' && entry.isStarted && isMissing(error) && (await statOrNull(to, run.signal))
  if (isMoved) return null
  throw error
}

/** Works on a folder page by page. Its files are copied here, and its folders become entries of the job. */
export async function transferFolder(run: JobRun, entry: JobEntry): Promise<void> {
  const opened = await withTally(run, async tally => {
    const folder = await tally.attempt(run, entry, () => openBoth(run, entry))
    if (!folder) await commitStep(run.db, run, entry, { next: { kind: 'done' }, found: [], done: tally })
    return folder
  })
  if (!opened) return
  let { cursor, hasFailed } = entry
  do {
    const result = await withTally(run, tally => transferPage(run, tally, entry, opened, { cursor, hasFailed }))
    cursor = result.cursor
    hasFailed = result.hasFailed
    run.signal.throwIfAborted()
  } while (cursor !== null)
}

async function openBoth(run: JobRun, entry: JobEntry): Promise<Folder> {
  requireDepth(entry.depth)
  const to = targetAt(run, entry.targetPath)
  const isEmpty = entry.isNewTarget && !entry.isStarted
  const names = await FolderNames.load(to, { isEmpty, signal: run.signal })
  return { from: sourceAt(run, entry), to, names }
}

interface Folder {
  from: ReadLocation
  to: WriteLocation
  /** Of the target. */
  names: FolderNames
}

async function transferPage(
  run: JobRun,
  tally: Tally,
  entry: JobEntry,
  folder: Folder,
  at: { cursor: string | null; hasFailed: boolean },
): Promise<{ cursor: string | null; hasFailed: boolean }> {
  const { job, signal } = run
  const found: NewJobEntry[] = []
  const listed = await tally.attempt(run, { ...entry, state: 'FOLDER' }, () =>
    folder.from.list(signal, { cursor: at.cursor, limit: maxPageSize }),
  )
  const { entries, cursor } = listed ?? { entries: [], cursor: null }
  await allDone(
    entries.map(child => {
      const path = childPath(folder.from.path, child.name)
      const place = { providerId: entry.providerId, path, targetPath: childPath(folder.to.path, child.name) }
      const depth = entry.depth + 1
      const failing = { ...place, depth, state: child.kind === 'file' ? ('FILE' as const) : ('SOURCE' as const) }
      return tally.attempt(run, failing, () =>
        run.limits.run([entry.providerId, folder.to.providerId], async () => {
          signal.throwIfAborted()
          const opened = await transferChild(run, tally, entry, folder, child)
          if (opened) found.push({ ...place, ...opened, depth })
        }),
      )
    }),
  )
  const hasFailed = at.hasFailed || tally.failures.length > 0
  // In a folder with a failure, an entry that looks extra may belong to an entry that failed.
  if (cursor === null && job.kind === 'SYNC' && job.deleteExtra && !hasFailed) found.push({ ...entry, state: 'EXTRA' })
  const end = job.kind === 'MOVE' && !job.dryRun ? ({ kind: 'listed' } as const) : ({ kind: 'done' } as const)
  const next = cursor === null ? end : ({ kind: 'page', cursor } as const)
  await commitStep(run.db, run, entry, { next, found, done: tally })
  return { cursor, hasFailed }
}

/** Returns the folder at the target if the child is a folder whose content is to follow. */
async function transferChild(
  run: JobRun,
  tally: Tally,
  entry: JobEntry,
  { from, to, names }: Folder,
  child: CheckedEntry,
) {
  const [source, target] = [from.child(child.name), to.child(child.name)]
  const existing = await names.find(child.name)
  if (!existing && run.job.kind === 'MOVE' && !run.job.dryRun) {
    const moved = await unlessTaken(() => writable(source).moveTo(target, run.signal, { overwrite: false }))
    if (moved !== null && moved !== taken) {
      tally.add(child.size)
      return null
    }
  }
  if (child.kind === 'file') {
    await transferFile(run, tally, { from: source, entry: child, to: target, existing, isRepeated: entry.isStarted })
    return null
  }
  requireOutside(child, source, run.targetFolders)
  return openFolder(run, { folder: target, existing, isRepeated: entry.isStarted, isMerged: false })
}

/**
 * Returns where a source goes in the target folder. If the source is the root of a provider, this is the target folder
 * itself.
 */
export function targetPathOf(source: StoragePath, target: string): string {
  const folder = parsePath(target)
  const name = nameOf(source)
  return name === '' ? formatPath(folder) : childPath(folder, name)
}
