/** Brings the catalogue up to date with changes that were made through this server, or that a back end reports, by looking at the back end once more. */
import { ancestorsOf, commonPath, parentOf, type StoragePath } from '../../auth/path.ts'
import { changeCatalogue } from '../../db/catalogue/catalogues.ts'
import { addReportedFolders, addTrees, type CatalogueChange, endChanges, setNext } from '../../db/catalogue/changes.ts'
import { moveContents } from '../../db/catalogue/contents.ts'
import {
  deleteEntries,
  type EntryFacts,
  findById,
  findEntries,
  listBelow,
  putEntries,
} from '../../db/catalogue/entries.ts'
import { addOutside, type OutsideChange } from '../../db/catalogue/outside.ts'
import type { Database } from '../../db/client.ts'
import { allDone, Limiter } from '../../lib/limiter.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { factsOf, fits, isHidden, isOther, isOwnFault, toEntry } from './entry.ts'
import { batchSize, removeAll, removeBelow } from './remove.ts'
import type { WalkContext } from './walk.ts'

export interface FollowContext extends WalkContext {
  /** The catalogue contains everything below a path, except changes that are still to be followed. */
  isComplete(path: StoragePath): boolean
  /** Called for each entry that was added or has changed. */
  onAdded(path: StoragePath): void
}

/**
 * Looks at the entries of changes of the kinds ENTRY, CREATED and REMOVED, and stores what is there now. A folder gets a walk, but one that
 * the back end reports only if it is another folder than before, because most back ends report the folders around each change, and one
 * that was created empty only if the catalogue still has an earlier folder.
 * @throws as `ProviderReader.stat`
 */
export async function followEntries(
  context: FollowContext,
  changes: readonly CatalogueChange[],
  atOnce: number,
  signal: AbortSignal,
): Promise<void> {
  const { db, catalogue } = context
  const paths = new Set(changes.map(({ path }) => path))
  const own = new Set(changes.flatMap(({ path, isOutside }) => (isOutside ? [] : path)))
  const changed = new Set(changes.flatMap(({ kind, path }) => (kind === 'CREATED' ? [] : path)))
  const isCreated = ({ path }: { path: StoragePath }) => !changed.has(path)
  const { found, gone } = await look(context, paths, atOnce, signal)
  const removed = await findEntries(db, catalogue, [...gone])
  const isOutside = ({ path }: { path: StoragePath }) => paths.has(path) && !own.has(path)
  const removals = removed.filter(isOutside).map(({ path }): OutsideChange => ({ kind: 'REMOVED', path }))
  if (removals.length > 0) {
    await changeCatalogue(db, context, async trx => {
      await addOutside(trx, catalogue, removals)
      return {}
    })
  }
  await removeAll(context, removed)
  const known = new Map((await findEntries(db, catalogue, [...found.keys()])).map(entry => [entry.path, entry]))
  for (const [path, { kind }] of found) {
    if (kind === 'file' && known.get(path)?.isFolder) await removeBelow(context, path)
  }
  await changeCatalogue(db, context, async trx => {
    const entries = [...found].map(([path, entry]) => toEntry(catalogue, path, factsOf(entry)))
    const added = await putEntries(trx, catalogue, entries)
    const folders = entries.filter(({ path, isFolder }) => isFolder && paths.has(path))
    const others = entries.filter(entry => isOutside(entry) && isOther(known.get(entry.path), entry))
    const walked = folders.filter(entry => !isOutside(entry) && (known.get(entry.path)?.isFolder || !isCreated(entry)))
    await addTrees(trx, catalogue, pathsOf(walked), false)
    await addTrees(trx, catalogue, pathsOf(others.filter(({ isFolder }) => isFolder)), true)
    await addReportedFolders(trx, catalogue, await foldersOfAliases(trx, catalogue, entries.filter(isOutside)))
    await addOutside(
      trx,
      catalogue,
      others.map(({ path }) => ({ kind: 'WRITTEN', path })),
    )
    await endChanges(
      trx,
      catalogue,
      changes.map(({ id }) => id),
    )
    return { added }
  })
  for (const path of found.keys()) context.onAdded(path)
}

/**
 * Returns the folders to list because one entry is at several paths that a back end may take for the same: other cases of a name, or names
 * that it makes unique. A listing has one of them.
 */
async function foldersOfAliases(
  db: Database,
  catalogue: number,
  entries: readonly (EntryFacts & { path: StoragePath })[],
): Promise<StoragePath[]> {
  const known = await findById(
    db,
    catalogue,
    entries.flatMap(({ fileId }) => fileId ?? []),
  )
  const paths = Map.groupBy(known, ({ fileId }) => fileId)
  const folders = entries.flatMap(({ path, fileId }) => {
    const others = paths.get(fileId ?? '') ?? []
    return others.flatMap(({ path: other }) => (other === path ? [] : (folderOfAlias(path, other) ?? [])))
  })
  return [...new Set(folders)]
}

/** Returns the folder in which two paths differ, if they differ in one name or in the case of letters alone. */
function folderOfAlias(path: StoragePath, other: StoragePath): StoragePath | null {
  if (parentOf(path) === parentOf(other)) return parentOf(path)
  if (path.toLowerCase() !== other.toLowerCase()) return null
  return commonPath([path, other])
}

const pathsOf = (entries: readonly { path: StoragePath }[]) => entries.map(({ path }) => path)

/** Returns which of the entries exist, with the unknown folders around them, and which entries do not. */
async function look(
  { db, catalogue, reader }: FollowContext,
  paths: ReadonlySet<StoragePath>,
  atOnce: number,
  signal: AbortSignal,
): Promise<{ found: Map<StoragePath, CheckedEntry>; gone: Set<StoragePath> }> {
  const found = new Map<StoragePath, CheckedEntry>()
  const gone = new Set<StoragePath>()
  const limiter = new Limiter(atOnce)
  const seen = new Set<StoragePath>()
  for (let next = [...paths]; next.length > 0; ) {
    await allDone(next.filter(path => path !== '' && fits(path)).map(path => limiter.run(() => lookAt(path))))
    next = await around()
  }
  return { found, gone }

  async function lookAt(path: StoragePath): Promise<void> {
    seen.add(path)
    try {
      found.set(path, await reader.stat(path, signal))
    } catch (error) {
      if (isHidden(error)) gone.add(path)
      else if (!isOwnFault(error)) throw error
    }
  }

  /** Returns the folders that came or went together with an entry in them. */
  async function around(): Promise<StoragePath[]> {
    const folders = new Set([...found.keys()].flatMap(path => ancestorsOf(path).filter(folder => folder !== '')))
    const unseen = [...folders].filter(folder => !seen.has(folder))
    const known = new Set((await findEntries(db, catalogue, unseen)).map(({ path }) => path))
    // Without empty folders, the last entry takes its folder with it.
    const emptied = reader.traits.emptyDirectories ? [] : Array.from(gone, parentOf)
    return [
      ...unseen.filter(folder => !known.has(folder)),
      ...emptied.filter(folder => folder !== '' && !seen.has(folder)),
    ]
  }
}

/**
 * Moves the entries of a folder that has moved. The audit event of the move adds changes of both paths, which find what differs. So this
 * may be incomplete, but it saves a wait for the back end.
 */
export async function followMove(context: FollowContext, change: CatalogueChange, signal: AbortSignal): Promise<void> {
  const { db } = context
  const { id, path: from, toPath: to } = change
  if (to !== null && context.isComplete(from)) {
    if (change.next === null) {
      // The entry that the folder has replaced.
      await removeAll(context, [{ path: to, isFolder: true }])
      await changeCatalogue(db, context, async trx => {
        await setNext(trx, context.catalogue, id, to)
        return {}
      })
    }
    while (await moveBatch(context, from, to)) signal.throwIfAborted()
  }
  await removeAll(context, [{ path: from, isFolder: true }])
  await changeCatalogue(db, context, async trx => {
    await endChanges(trx, context.catalogue, [id])
    return {}
  })
}

/** Moves some entries. Returns false if there are none. */
async function moveBatch(context: FollowContext, from: StoragePath, to: StoragePath): Promise<boolean> {
  const { db, catalogue } = context
  const below = await listBelow(db, catalogue, from, batchSize)
  const top = await findEntries(db, catalogue, [from])
  const moved = [...top, ...below].flatMap(entry => {
    const path = `${to}${entry.path.slice(from.length)}` as StoragePath
    return fits(path) ? { ...toEntry(catalogue, path, entry), from: entry.path } : []
  })
  if (top.length + below.length === 0) return false
  await changeCatalogue(db, context, async trx => {
    await moveContents(
      trx,
      catalogue,
      moved.filter(({ hasText }) => hasText),
    )
    const deleted = await deleteEntries(
      trx,
      catalogue,
      [...top, ...below].map(({ path }) => path),
    )
    return { added: (await putEntries(trx, catalogue, moved)) - deleted }
  })
  return true
}
