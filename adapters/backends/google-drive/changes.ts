/**
 * Lists what has changed in a drive (developers.google.com/workspace/drive/api/reference/rest/v3/changes). Files have ids, so this finds the path
 * of each. Only the host knows where a file was before.
 */
import type { drive_v3 } from '@googleapis/drive'
import { changesAtOnce, changesPage } from '../../bases/changes.ts'
import { inParallel } from '../../bases/limits.ts'
import { type ChangedEntry, type ChangesPage, childOf, StorageError, type StoragePath } from '../../contract.ts'
import type { Tree } from './destination.ts'
import { type DriveFiles, fileFields } from './files.ts'
import type { PathIds } from './ids.ts'
import { isRefusedToken } from './list.ts'
import { byRank, type DriveFile, fileIdOf, isFolder, plainName, shortcutType, storedNames, twinName } from './names.ts'

/** Folders that are asked for at once. */
const foldersAtOnce = 4
/** The maximum depth of a folder whose path is found. */
const maxDepth = 100

export async function changesSince(
  tree: Pick<Tree, 'files' | 'ids'>,
  cursor: string | null,
  signal: AbortSignal,
): Promise<ChangesPage> {
  const { files, ids } = tree
  if (cursor === null) return { changed: [], cursor: await startToken(files, signal), hasMore: false }
  try {
    const page = await pageOf(files, cursor, signal)
    const changes = page.changes ?? []
    // A folder may have moved, so what is known of paths may be wrong.
    if (changes.some(({ file }) => !file || isFolder(file as DriveFile))) ids.forget([])
    const next = page.nextPageToken ?? page.newStartPageToken
    if (!next) throw new StorageError('UNAVAILABLE', 'Google Drive sent an unexpected response: try again.')
    return changesPage(await changedIn(tree, changes, signal), next, page.nextPageToken != null)
  } catch (error) {
    if (!isRefusedToken(error)) throw error
    return { changed: 'everything', cursor: await startToken(files, signal), hasMore: false }
  }
}

async function startToken(files: DriveFiles, signal: AbortSignal): Promise<string> {
  const { driveId } = await files.root(signal)
  const url = 'drive/v3/changes/startPageToken'
  const { startPageToken } = await files.get<drive_v3.Schema$StartPageToken>(url, { driveId }, signal)
  if (!startPageToken) throw new StorageError('UNAVAILABLE', 'Google Drive sent an unexpected response: try again.')
  return startPageToken
}

async function pageOf(files: DriveFiles, pageToken: string, signal: AbortSignal): Promise<drive_v3.Schema$ChangeList> {
  const { driveId } = await files.root(signal)
  const query = {
    pageToken,
    driveId,
    pageSize: changesAtOnce,
    includeRemoved: true,
    includeItemsFromAllDrives: true,
    fields: `nextPageToken,newStartPageToken,changes(changeType,fileId,removed,file(${fileFields}))`,
  }
  return await files.get<drive_v3.Schema$ChangeList>('drive/v3/changes', query, signal)
}

async function changedIn(
  { files, ids }: Pick<Tree, 'files' | 'ids'>,
  changes: readonly drive_v3.Schema$Change[],
  signal: AbortSignal,
): Promise<ChangedEntry[]> {
  const root = await files.root(signal)
  const changed = changes.flatMap(({ fileId, changeType, removed, file }) => {
    if (!fileId || changeType === 'drive' || fileId === root.id) return []
    const isShown = !removed && file && !file.trashed && file.mimeType !== shortcutType
    return { id: fileId, file: isShown ? (file as DriveFile) : null }
  })
  const paths = new Paths(files, ids, root.id)
  const byParent = Map.groupBy(
    changed.flatMap(({ file }) => file ?? []),
    ({ parents }) => parents?.[0] ?? '',
  )
  const found: ChangedEntry[] = changed.map(({ id }) => ({ fileId: fileIdOf(id) }))
  await inParallel(byParent, foldersAtOnce, async ([parent, children]) => {
    const folder = await paths.of(parent, signal)
    if (folder === null) return
    const names = children.flatMap(file => plainName(file) ?? [])
    // A file can get or lose a name because of another file with the same one, so all of them count.
    for (const path of await namesInFolder(files, parent, names, signal)) found.push({ path: childOf(folder, path) })
  })
  return found
}

/** Returns the unique names of all files in a folder that have one of these plain names. */
async function namesInFolder(
  files: DriveFiles,
  folder: string,
  plain: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const found = await files.named(folder, plain.flatMap(storedNames), signal)
  const wanted = new Set(plain)
  return [...Map.groupBy(found, file => plainName(file))].flatMap(([name, twins]) => {
    if (name === undefined || !wanted.has(name)) return []
    return twins.sort(byRank).map((file, rank) => (rank === 0 ? name : twinName(file, name)))
  })
}

/** The paths of folders by their ids. */
class Paths {
  readonly #files: DriveFiles
  readonly #ids: PathIds
  readonly #found = new Map<string, Promise<StoragePath | null>>()

  constructor(files: DriveFiles, ids: PathIds, root: string) {
    this.#files = files
    this.#ids = ids
    this.#found.set(root, Promise.resolve('' as StoragePath))
  }

  /** Returns null for a folder that is missing, in the trash or outside of the root folder. */
  of(id: string, signal: AbortSignal, depth = 0): Promise<StoragePath | null> {
    const found = this.#found.get(id) ?? this.#find(id, signal, depth)
    this.#found.set(id, found)
    return found
  }

  async #find(id: string, signal: AbortSignal, depth: number): Promise<StoragePath | null> {
    if (id === '' || depth > maxDepth) return null
    const file = await this.#files.find(id, signal)
    const [parent] = file?.parents ?? []
    const name = file && plainName(file)
    if (!file || file.trashed || parent == null || name === undefined) return null
    const folder = await this.of(parent, signal, depth + 1)
    if (folder === null) return null
    const twins = await this.#ids.twins(parent, name, signal)
    const isFirst = twins[0] === undefined || twins[0].id === id
    return childOf(folder, isFirst ? name : twinName(file, name))
  }
}
