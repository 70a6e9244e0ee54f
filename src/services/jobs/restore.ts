/**
 * RESTORE: brings files and folders back as they were at a time. It first finds all of its steps, because each step changes what versions and
 * the trash say. A dry run ends there. Contents of versions are copied, so that another RESTORE finds them again. What a step replaces
 * becomes a version or goes to the trash, and stays if it is not what the step was planned for.
 */
import { formatPath, parsePath, root } from '../../auth/path.ts'
import { findVersion } from '../../db/file-versions.ts'
import { commitStep, finishEntries, type JobEntry, type NewJobEntry } from '../../db/jobs/entries.ts'
import { markAllStarted, shallowestListed } from '../../db/jobs/restore-steps.ts'
import { findRestorable, listRestorable, type Restorable } from '../../db/restorable.ts'
import type { RestoreStep, SeenEntry } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import { allDone } from '../../lib/limiter.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { nothingKeeps, statOrNull } from '../files/conflict.ts'
import { copyFile } from '../files/copying.ts'
import { requireReplaceable } from '../files/transfer.ts'
import { requireDepth } from '../files/tree.ts'
import { PageReader } from './folders.ts'
import { childPath, type JobRun, passingBytes, sourceAt, type Tally, withTally, writable } from './job-run.ts'
import { keepsVersions, removeTree } from './remove.ts'
import { carryOutNative, deletedStart, isDeletedCursor, nativeStep, planDeleted } from './restore-native.ts'
import { contentOf, countPlanned, isContent, isNewer, mayBeNewer, seenOf, stepAt, timeOf } from './restore-step.ts'

/** The number of paths whose steps are found at once, and of steps that are carried out between two commits. */
const [pathsPerPage, stepsAtOnce] = [500, 100]

/** Finds what has to come back at and below a source. The cursor of the entry is the path after which the next ones are. */
export async function planRestore(run: JobRun, entry: JobEntry): Promise<void> {
  let { cursor } = entry
  do {
    cursor = await withTally(run, tally => planPage(run, tally, entry, cursor))
    run.signal.throwIfAborted()
    if (cursor !== null) run.turn.throwIfAborted()
  } while (cursor !== null)
}

async function planPage(run: JobRun, tally: Tally, entry: JobEntry, cursor: string | null): Promise<string | null> {
  if (isDeletedCursor(cursor)) return planDeleted(run, tally, entry, cursor)
  const { db } = run
  const location = writable(sourceAt(run, entry))
  const steps: NewJobEntry[] = []
  const page = await tally.attempt(run, { ...entry, cursor }, async () => {
    const after = cursor === null ? null : parsePath(cursor)
    const { providerId, path } = location
    const listed = await listRestorable(db, { providerId, path, at: timeOf(run) }, { after, limit: pathsPerPage })
    if (listed.next !== null) return { ...listed, ends: null }
    const source = await statOrNull(location, run.signal)
    const more = source ? await changesAt(run, entry, location, source) : await lostAt(run, entry, location)
    const deleted = deletedStart(location, source)
    if (cursor === null && !source && listed.found.length + more.length === 0 && !deleted) throw nothingKept(entry)
    return { ...listed, ends: { more, deleted } }
  })
  const found = page?.found ?? []
  await allDone(
    found.map(each => {
      const at = stepAt(run, entry.providerId, each.path)
      const { state: _, ...failing } = at
      return tally.attempt(run, { ...failing, state: 'SOURCE' }, async () => {
        const step = await run.limits.run([entry.providerId], () => stepOf(run, location.at(each.path), each))
        if (step === 'SAME') tally.skipped += 1
        else if (step) steps.push({ ...at, restores: step })
      })
    }),
  )
  steps.push(...(page?.ends?.more ?? []))
  countPlanned(run, tally, steps)
  const next = page?.next == null ? (page?.ends?.deleted ?? null) : formatPath(page.next)
  const following = next === null ? ({ kind: 'done' } as const) : ({ kind: 'page', cursor: next } as const)
  await commitStep(db, run, entry, { next: following, found: steps, done: tally })
  return next
}

function nothingKept({ path }: JobEntry): AppError {
  return new AppError('NOT_FOUND', `"${path}" does not exist, and nothing of it is kept from that time.`)
}

/** Returns SAME if the file has that content now, and null for a file in the trash that was created since. */
async function stepOf(run: JobRun, location: WriteLocation, past: Restorable): Promise<RestoreStep | 'SAME' | null> {
  const existing = await statOrNull(location, run.signal)
  if (existing && past.source === 'VERSION' && isContent(existing, past)) return 'SAME'
  if (past.source === 'TRASH') {
    const trashed = await statOrNull(location.inTrash(past.id), run.signal)
    if (trashed && isNewer(run, trashed)) return null
  }
  const { source, id, kind, size, etag, modifiedAt, until } = past
  return {
    action: existing ? 'REPLACE' : 'CREATE',
    content: { source, id },
    kind,
    size,
    etag,
    modifiedAt: modifiedAt?.getTime() ?? null,
    until: until.getTime(),
    ...(!past.isBelowTrashed && { seen: existing && seenOf(existing) }),
  }
}

// Entries that were created since the time.

/** Returns what a file that was created or replaced since needs, or the folder in which such files are looked for. */
async function changesAt(
  run: JobRun,
  entry: JobEntry,
  location: WriteLocation,
  source: CheckedEntry,
): Promise<NewJobEntry[]> {
  if (source.kind === 'directory') {
    const looks = run.job.deleteExtra || location.hasNativeVersions
    return looks ? [{ ...entry, state: 'FOLDER', cursor: null, depth: 0 }] : []
  }
  if (!mayBeNewer(run, source) || (await isKnown(run, location))) return []
  const step = await stepOfNewer(run, location, source)
  return step ? [{ ...stepAt(run, entry.providerId, location.path), restores: step }] : []
}

/** Returns what a file that is gone needs, if only the back end keeps its versions. */
async function lostAt(run: JobRun, { providerId }: JobEntry, location: WriteLocation): Promise<NewJobEntry[]> {
  if (!location.hasNativeVersions || location.path === root || (await isKnown(run, location))) return []
  const step = await nativeStep(run, location, null)
  return step ? [{ ...stepAt(run, providerId, location.path), restores: step }] : []
}

/** Returns whether versions of Stowage or the trash have the file. */
async function isKnown(run: JobRun, { providerId, path }: WriteLocation): Promise<boolean> {
  return (await findRestorable(run.db, { providerId, at: timeOf(run) }, [path])).has(path)
}

/** Returns the step for a file that may have been stored since: its version at the back end comes back, or it is deleted. Null if it stays. */
async function stepOfNewer(run: JobRun, location: WriteLocation, file: CheckedEntry): Promise<RestoreStep | null> {
  const native = await nativeStep(run, location, file)
  if (native) return isContent(file, contentOf(native)) ? null : native
  return run.job.deleteExtra && isNewer(run, file) ? deletionOf(file) : null
}

/** Finds the files of a folder that were created or replaced since, page by page. Its folders become entries of the job. */
export async function planChanges(run: JobRun, entry: JobEntry): Promise<void> {
  const pages = new PageReader(entry)
  let { cursor } = entry
  do {
    cursor = await withTally(run, tally => planChangesOfPage(run, tally, entry, { cursor, pages }))
    run.signal.throwIfAborted()
    if (cursor !== null) run.turn.throwIfAborted()
  } while (cursor !== null)
}

async function planChangesOfPage(
  run: JobRun,
  tally: Tally,
  entry: JobEntry,
  { cursor, pages }: { cursor: string | null; pages: PageReader },
): Promise<string | null> {
  const folder = sourceAt(run, entry)
  const page = await tally.attempt(run, { ...entry, cursor }, async isRetry => {
    requireDepth(entry.depth)
    return pages.read(folder, { cursor, isRetry }, run.signal)
  })
  const entries = page?.entries ?? []
  const { providerId } = entry
  const files = entries
    .filter(file => mayBeNewer(run, file))
    .map(file => ({ file, path: folder.child(file.name).path }))
  const paths = files.map(({ path }) => path)
  const restorable = await findRestorable(run.db, { providerId, at: timeOf(run) }, paths)
  const steps: NewJobEntry[] = []
  await allDone(
    files
      .filter(({ path }) => !restorable.has(path))
      .map(({ file, path }) => {
        const at = stepAt(run, providerId, path)
        const { state: _, ...failing } = at
        return tally.attempt(run, { ...failing, state: 'SOURCE' }, () =>
          run.limits.run([providerId], async () => {
            const step = await stepOfNewer(run, writable(folder.at(path)), file)
            if (step) steps.push({ ...at, restores: step })
          }),
        )
      }),
  )
  countPlanned(run, tally, steps)
  const folders = entries
    .filter(({ kind }) => kind === 'directory')
    .map(({ name }): NewJobEntry => {
      const path = childPath(folder.path, name)
      return { state: 'FOLDER', providerId, path, targetPath: null, depth: entry.depth + 1, isNewTarget: false }
    })
  const next = page?.cursor ?? null
  const following = next === null ? ({ kind: 'done' } as const) : ({ kind: 'page', cursor: next } as const)
  await commitStep(run.db, run, entry, { next: following, found: [...steps, ...folders], done: tally })
  return next
}

function deletionOf({ size, etag, modifiedAt }: CheckedEntry): RestoreStep {
  const time = modifiedAt?.getTime() ?? null
  return { action: 'DELETE', content: null, kind: 'file', size, etag, modifiedAt: time, until: null }
}

// Carries out the steps.

/** Entries in a folder wait for the folder. @throws LeaseLost, the reason of the signal or of the end of the turn */
export async function carryOutSteps(run: JobRun): Promise<void> {
  for (;;) {
    const entries = await shallowestListed(run.db, run.job.id, stepsAtOnce)
    if (entries.length === 0) return
    const ids = entries.map(({ id }) => id)
    await markAllStarted(run.db, run.job.id, ids)
    await withTally(run, async tally => {
      const left = new Set<string>()
      const carryOut = async (entry: JobEntry) => {
        if ((await attemptStep(run, tally, entry)) === false) left.add(entry.id)
      }
      if (!run.job.dryRun) await allDone(entries.map(carryOut))
      const ended = ids.filter(id => !left.has(id))
      // A retry of a dry run shows the same steps again.
      await finishEntries(run.db, run, ended, { kept: run.job.dryRun ? ids : [], done: tally })
    })
    run.signal.throwIfAborted()
    run.turn.throwIfAborted()
  }
}

/** Returns false if the turn ended before the step was done, and undefined if it has failed. */
function attemptStep(run: JobRun, tally: Tally, entry: JobEntry): Promise<boolean | undefined> {
  return tally.attempt(run, entry, isRetry =>
    run.limits.run([entry.providerId], async () => {
      run.signal.throwIfAborted()
      const location = writable(sourceAt(run, entry))
      const isRepeated = entry.isStarted || isRetry
      const { restores } = entry
      if (!restores?.content) {
        await deleteNew(run, tally, location, restores)
        return true
      }
      const { id, source } = restores.content
      await requireSeen(run, location, restores, { isRepeated })
      if (source === 'TRASH') {
        const { signal, turn } = run
        if (!(await run.trash.restore(id, location, { isRepeated, signal, turn }))) return false
      } else if (source === 'NATIVE') await carryOutNative(run, location, { ...restores, id })
      else await restoreVersion(run, location, { ...restores, id })
      tally.add(restores.size)
      return true
    }),
  )
}

/**
 * Requires that a step replaces what it was planned for. An earlier attempt may have stored the content already.
 * @throws PRECONDITION_FAILED
 */
async function requireSeen(
  run: JobRun,
  location: WriteLocation,
  { seen, size }: RestoreStep,
  { isRepeated }: { isRepeated: boolean },
): Promise<void> {
  if (seen === undefined) return
  const existing = await statOrNull(location, run.signal)
  if (!existing || isSeen(existing, seen) || (isRepeated && existing.size === size)) return
  const message = `"${formatPath(location.path)}" was changed after the job had found out what to restore, so it stays as it is.`
  throw new AppError('PRECONDITION_FAILED', message)
}

/** The size, the etag and the time of a folder say nothing about what is in it, which is added to. */
function isSeen(existing: CheckedEntry, seen: SeenEntry | null): boolean {
  if (existing.kind !== seen?.kind) return false
  if (existing.kind === 'directory') return true
  const { size, etag, modifiedAt } = seenOf(existing)
  if (size !== seen.size || etag !== seen.etag) return false
  // Some back ends list a more exact time than they show for a single file.
  return etag !== null || modifiedAt === seen.modifiedAt
}

/** @throws NOT_FOUND if the version is not kept any more; PRECONDITION_FAILED if nothing would keep what it replaces */
async function restoreVersion(run: JobRun, location: WriteLocation, step: RestoreStep & { id: string }): Promise<void> {
  const { signal } = run
  const existing = await statOrNull(location, signal)
  if (existing && isContent(existing, contentOf(step))) return
  if (existing) await requireReplaceable('file', location, existing, signal)
  if (!(await findVersion(run.db, step.id, location))) {
    const message = `The version of "${formatPath(location.path)}" from that time is not kept any more.`
    throw new AppError('NOT_FOUND', message)
  }
  const version = location.inTrash(step.id)
  const content = await version.stat(signal)
  if (existing && !location.hasNativeVersions && !(await keepsVersions(location))) {
    const put = await run.trash.put(location, existing, { jobId: run.job.id, signal })
    if (put === 'OFF') throw nothingKeeps(location.path)
  }
  await copyFile(version, content, location, { overwrite: true, signal, onBytes: passingBytes(run, location) })
}

/** Deletes a file that was created since, unless it was changed while the job ran. */
async function deleteNew(run: JobRun, tally: Tally, location: WriteLocation, seen: RestoreStep | null): Promise<void> {
  const existing = await statOrNull(location, run.signal)
  if (existing?.kind !== 'file' || !isSeen(existing, seen)) {
    tally.skipped += 1
    return
  }
  const isKept = location.findsDeleted || (await run.trash.isOn(location)) || (await keepsVersions(location))
  if (!isKept) {
    const message = `"${formatPath(location.path)}" was created since that time, and stays: its storage has neither a trash nor versions.`
    throw new AppError('PRECONDITION_FAILED', message)
  }
  await removeTree(run, tally, location, existing)
}
