/** COPY, MOVE and SYNC: works on one entry of a job at a time and stores the folders that it finds for later. */
import { formatPath, isWithin, nameOf, parsePath, type StoragePath } from '../../auth/path.ts'
import { commitStep, type JobEntry, type NewJobEntry } from '../../db/jobs/entries.ts'
import { AppError } from '../../errors.ts'
import { maxPageSize, type ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { candidates, nameTaken, statOrNull, taken, unlessTaken } from '../files/conflict.ts'
import { requireOutside } from '../files/copying.ts'
import { requireDepth } from '../files/tree.ts'
import { type JobRun, sourceAt, Tally, targetAt, writable } from './job-run.ts'
import { removeTree } from './remove-tree.ts'
import { TargetNames } from './target-names.ts'
import { transferFile } from './transfer-file.ts'

/** Works on a source as the job names it: a file, or the top of a tree. */
export async function transferSource(run: JobRun, entry: JobEntry): Promise<void> {
  const from = sourceAt(run, entry)
  const to = targetAt(run, entry.targetPath ?? '/')
  const tally = new Tally()
  const found: NewJobEntry[] = []
  await tally.attempt(run, from, to, async () => {
    const source = await from.stat(run.signal)
    requireOutsideItself(run, from, source, to)
    if (source.kind === 'directory') requireOutside(source, from, run.enclosing)
    const folder = await transferTop(run, tally, { from, source, to, isRepeated: entry.isStarted })
    if (folder) found.push({ ...folder, providerId: from.providerId, path: formatPath(from.path), depth: 0 })
  })
  await commitStep(run.db, { id: run.job.id, lease: run.lease }, entry, {
    next: { kind: 'delete' },
    found,
    done: tally,
  })
}

interface Top {
  from: ReadLocation
  source: CheckedEntry
  to: WriteLocation
  isRepeated: boolean
}

type FolderAtTarget = Pick<NewJobEntry, 'state' | 'targetPath' | 'isNewTarget'>

/** Moves in one step, or copies a file, or returns the folder at the target whose content is to follow. */
async function transferTop(
  run: JobRun,
  tally: Tally,
  { from, source, to, isRepeated }: Top,
): Promise<FolderAtTarget | null> {
  const { job, signal } = run
  const isRename = job.conflict === 'RENAME' && job.kind !== 'SYNC'
  const names = isRename ? candidates(to.path, source.kind) : [to.path]
  for (const name of names) {
    const destination = run.target?.at(name) ?? to
    const existing = await statOrNull(destination, signal)
    if (existing && isRename && !isRepeated) continue
    if (!existing && job.kind === 'MOVE' && !job.dryRun) {
      const moved = await unlessTaken(() => writable(from).moveTo(destination, signal, { overwrite: false }))
      if (moved === taken) continue
      if (moved) {
        tally.files += 1
        tally.bytes += source.size ?? 0
        return null
      }
    }
    if (source.kind === 'directory') return openFolder(run, destination, existing, isRepeated)
    await run.files.run(() => transferFile(run, tally, { from, entry: source, to: destination, existing, isRepeated }))
    return null
  }
  throw nameTaken(to.path)
}

/** Creates a folder at the target, or opens an existing one if the job's conflict policy allows adding to it. */
async function openFolder(
  { job, signal }: JobRun,
  folder: WriteLocation,
  existing: CheckedEntry | null,
  isRepeated: boolean,
): Promise<FolderAtTarget> {
  const targetPath = formatPath(folder.path)
  if (existing?.kind === 'file') throw new AppError('NOT_A_FOLDER', 'A folder does not replace a file.')
  const mayMerge = isRepeated || job.kind === 'SYNC' || (job.conflict !== 'FAIL' && job.conflict !== 'RENAME')
  // The root of a provider always exists.
  if (existing && !mayMerge && folder.path !== '') throw nameTaken(folder.path)
  if (!existing && !job.dryRun) await folder.mkdir(signal, { exclusive: true })
  return { state: 'FOLDER', targetPath, isNewTarget: !existing }
}

/** Works on a folder page by page. Its files are copied here; its folders become entries of the job. */
export async function transferFolder(run: JobRun, entry: JobEntry): Promise<void> {
  const { job, signal } = run
  const from = sourceAt(run, entry)
  const to = targetAt(run, entry.targetPath ?? '/')
  requireDepth(entry.depth)
  const isExtraDeleted = job.kind === 'SYNC' && job.deleteExtra
  // To find what is extra, all names of the source must be seen in one run.
  let cursor = isExtraDeleted ? null : entry.cursor
  const names = await TargetNames.load(to, { isEmpty: entry.isNewTarget && !entry.isStarted, signal })
  for (;;) {
    const tally = new Tally()
    const found: NewJobEntry[] = []
    const page = await listPage(run, tally, from, cursor)
    await Promise.all(
      page.entries.map(async child => {
        const [source, target] = [from.child(child.name), to.child(child.name)]
        await tally.attempt(run, source, target, async () => {
          const existing = await names.take(child.name)
          if (child.kind === 'file') {
            const transfer = { from: source, entry: child, to: target, existing, isRepeated: entry.isStarted }
            await run.files.run(() => transferFile(run, tally, transfer))
            return
          }
          requireOutside(child, source, run.enclosing)
          const folder = await run.files.run(() => openFolder(run, target, existing, entry.isStarted))
          const path = formatPath(source.path)
          found.push({ ...folder, providerId: source.providerId, path, depth: entry.depth + 1 })
        })
      }),
    )
    cursor = page.cursor
    if (cursor === null && isExtraDeleted && page.isComplete) {
      for (const extra of names.rest()) {
        const location = to.child(extra.name)
        await tally.attempt(run, location, null, () => removeTree(run, tally, location, extra))
      }
    }
    const last = job.kind === 'MOVE' && !job.dryRun ? ({ kind: 'listed' } as const) : ({ kind: 'delete' } as const)
    const next = cursor === null ? last : ({ kind: 'page', cursor } as const)
    await commitStep(run.db, { id: job.id, lease: run.lease }, entry, { next, found, done: tally })
    if (cursor === null) return
    signal.throwIfAborted()
  }
}

/** A folder that cannot be listed is a failure of its own, and the job continues. */
async function listPage(run: JobRun, tally: Tally, folder: ReadLocation, cursor: string | null) {
  const page: { entries: CheckedEntry[]; cursor: string | null; isComplete: boolean } = {
    entries: [],
    cursor: null,
    isComplete: false,
  }
  await tally.attempt(run, folder, null, async () => {
    const listed = await folder.list(run.signal, { cursor, limit: maxPageSize })
    Object.assign(page, listed, { isComplete: true })
  })
  return page
}

/** @throws INTO_ITSELF, NOT_A_FOLDER */
function requireOutsideItself({ job }: JobRun, from: ReadLocation, source: CheckedEntry, to: WriteLocation): void {
  if (from.providerId !== to.providerId || !isWithin(to.path, from.path)) return
  if (from.path === to.path) {
    if (job.conflict === 'RENAME') return
    throw new AppError('ALREADY_EXISTS', `"${formatPath(from.path)}" is in this folder already.`)
  }
  if (source.kind === 'file') throw new AppError('NOT_A_FOLDER', `"${nameOf(from.path)}" is a file.`)
  throw new AppError('INTO_ITSELF', `The folder "${nameOf(from.path)}" cannot go into itself.`)
}

/**
 * Returns where a source goes in the target folder. If the source is the root of a provider, this is the target folder
 * itself.
 */
export function targetPathOf(source: StoragePath, target: string): string {
  const folder = parsePath(target)
  const name = nameOf(source)
  return name === '' ? formatPath(folder) : formatPath((folder === '' ? name : `${folder}/${name}`) as StoragePath)
}
