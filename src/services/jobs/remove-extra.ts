/** Deletes what a SYNC finds at the target but not in the source. */
import { childOf, isWithin } from '../../auth/path.ts'
import { commitStep, type JobEntry } from '../../db/jobs/entries.ts'
import { AppError } from '../../errors.ts'
import { maxPageSize } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { isMissing } from '../files/conflict.ts'
import { CursorCheck, children, requireDepth } from '../files/tree.ts'
import { FolderNames } from './folder-names.ts'
import { childPath, type JobRun, sourceAt, type Tally, targetAt, withTally } from './job-run.ts'
import { allDone } from './limiter.ts'
import { removeTree } from './remove-tree.ts'

type TargetPage = Awaited<ReturnType<WriteLocation['list']>>

/** @param entry a folder that was compared with its source without a failure */
export async function removeExtra(run: JobRun, entry: JobEntry): Promise<void> {
  await withTally(run, async tally => {
    // If the source is missing, everything would be extra.
    const names = await tally.attempt(run, entry, () =>
      FolderNames.load(sourceAt(run, entry), { isEmpty: false, isRequired: true, signal: run.signal }),
    )
    if (names) await removeExtraOf(run, tally, entry, names)
    await commitStep(run.db, run, entry, { next: { kind: 'done' }, found: [], done: tally })
  })
}

async function removeExtraOf(run: JobRun, tally: Tally, entry: JobEntry, names: FolderNames): Promise<void> {
  const cursors = new CursorCheck()
  let cursor: string | null = null
  do {
    const page: TargetPage | undefined = await tally.attempt(run, entry, async () => {
      const listed = await listTarget(run, entry, cursor)
      cursors.check(listed.cursor)
      return listed
    })
    await allDone((page?.entries ?? []).map(each => removeIfExtra(run, tally, entry, { names, each })))
    cursor = page?.cursor ?? null
  } while (cursor !== null)
}

async function listTarget(run: JobRun, entry: JobEntry, cursor: string | null): Promise<TargetPage> {
  const page = { cursor, limit: maxPageSize }
  return targetAt(run, entry.targetPath)
    .list(run.signal, page)
    .catch(error => {
      // A dry run has not created the folder.
      if (run.job.dryRun && isMissing(error)) return { entries: [], cursor: null }
      throw error
    })
}

async function removeIfExtra(
  run: JobRun,
  tally: Tally,
  { id: _own, ...entry }: JobEntry,
  { names, each }: { names: FolderNames; each: CheckedEntry },
): Promise<void> {
  const to = targetAt(run, entry.targetPath)
  const failing = { ...entry, path: childPath(sourceAt(run, entry).path, each.name) }
  await tally.attempt(run, failing, () =>
    run.limits.run([to.providerId], async () => {
      if (await names.find(each.name)) return
      const location = to.child(each.name)
      if (isSource(run, to, each) || (each.kind === 'directory' && (await containsSource(run, location, 0)))) {
        throw new AppError('INTO_ITSELF', 'A source of the job is in this folder of the target, so it is not deleted.')
      }
      await removeTree(run, tally, location, each)
    }),
  )
}

/** A source can be the root of a provider that lies anywhere below the folder, which only ids show. */
async function containsSource(run: JobRun, folder: WriteLocation, depth: number): Promise<boolean> {
  requireDepth(depth)
  for await (const entry of children(folder, run.signal)) {
    if (isSource(run, folder, entry)) return true
    if (entry.kind === 'directory' && (await containsSource(run, folder.child(entry.name), depth + 1))) return true
  }
  return false
}

/** Returns whether the entry is a source of the job or contains one, even through another provider. */
function isSource({ sources, sourceFolders }: JobRun, folder: WriteLocation, entry: CheckedEntry): boolean {
  if (entry.fileId !== null && sourceFolders.has(entry.fileId)) return true
  const path = childOf(folder.path, entry.name)
  return sources.some(source => source.providerId === folder.providerId && isWithin(source.path, path))
}
