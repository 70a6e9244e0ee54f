import { alreadyExists, hasCode, notADirectory, notAFile, notFound } from '../../bases/cloud/failure.ts'
import { withStorageErrors } from '../../bases/cloud/http.ts'
import { type Entry, type NativeTrash, nameOf, StorageError, segmentsOf } from '../../contract.ts'
import { pathKey, settleNew, type Tree } from './destination.ts'
import { toEntry } from './entry.ts'
import { google, notReplaceable } from './errors.ts'
import type { FolderHold } from './folders.ts'
import type { LocatedFile } from './ids.ts'
import type { DriveFile } from './names.ts'
import { extensionOf, isDoc, isFolder, toStored } from './names.ts'

interface Transfer {
  from: readonly string[]
  to: readonly string[]
  overwrite: boolean
  signal: AbortSignal
}

/** Moves a file, or a folder with everything below it, with one request to Drive. */
export async function moveEntry(tree: Tree, transfer: Transfer): Promise<DriveFile> {
  const { from, signal } = transfer
  const found = await tree.ids.find(from, signal, 'verified')
  if (!found) throw notFound()
  // If several calls move one file, only the first may find it at its old path.
  return await tree.locks.run(`id:${found.file.id}`, signal, async () => {
    const source = await tree.ids.find(from, signal, 'verified')
    if (!source || source.file.id !== found.file.id) throw notFound()
    return await atDestination(tree, transfer, source.file, async (parent, existing) => {
      const moved = await moveTo(tree, source, parent, nameFor(source.file, transfer.to), signal)
      if (isFolder(source.file)) for (const path of [from, transfer.to]) tree.ids.forget(path)
      if (existing) await tree.files.trash(existing.id, signal)
      return moved
    })
  })
}

/** Moves a file to another folder, renames it, or both. */
export async function moveTo(
  tree: Tree,
  source: LocatedFile,
  to: string,
  name: string,
  signal: AbortSignal,
): Promise<DriveFile> {
  const { file, parent: from } = source
  try {
    return await tree.files.update(file.id, { name }, signal, { from, to })
  } catch (error) {
    if (!(error instanceof StorageError && error.code === 'UNAVAILABLE')) throw error
    // The move may have succeeded although its response was lost.
    const now = await tree.files.find(file.id, signal)
    if (now?.name === name && now.parents?.includes(to) && !now.trashed) return now
    throw error
  }
}

export async function copyFile(tree: Tree, transfer: Transfer): Promise<DriveFile> {
  const { from, to, overwrite, signal } = transfer
  const source = await tree.ids.find(from, signal, 'verified')
  if (!source) throw notFound()
  if (isFolder(source.file)) throw notAFile()
  return await atDestination(tree, transfer, source.file, async (parent, existing) => {
    // Drive's copy always creates a new file. `write` keeps the id and the sharing of the existing one.
    if (existing) throw new StorageError('NOT_IN_ONE_STEP', 'Google Drive cannot copy over an existing file.')
    const { file } = source
    if (to.join('/') === from.join('/')) return file
    let id = isDoc(file) ? undefined : await tree.files.newId(signal)
    try {
      const copied = await tree.files.copy(file, id, parent, nameFor(file, to), signal)
      id = copied.id
      return await settleNew(tree, copied, { segments: to, parent, overwrite, signal })
    } catch (error) {
      if (id !== undefined) await tree.files.undo(id)
      throw error
    }
  })
}

/** Creates missing parents of the destination, checks it, and runs `work`. Removes those folders if `work` fails. */
async function atDestination(
  tree: Tree,
  { from, to, overwrite, signal }: Transfer,
  source: DriveFile,
  work: (parent: string, existing: DriveFile | undefined) => Promise<DriveFile>,
): Promise<DriveFile> {
  nameFor(source, to)
  const name = to.at(-1) ?? ''
  let hold: FolderHold | undefined
  try {
    hold = await tree.folders.hold(to.slice(0, -1), signal)
    const { id: parent } = hold
    return await tree.locks.run(pathKey(to), signal, async () => {
      const existing = await tree.ids.lookUp(parent, name, signal)
      const isItself = existing?.id === source.id && from.join('/') === to.join('/')
      if (existing && !isItself) await checkReplaceable(tree, source, existing, { parent, name, overwrite, signal })
      const replaced = existing?.id === source.id ? undefined : existing
      return await work(parent, replaced)
    })
  } catch (error) {
    await hold?.undo()
    throw error
  } finally {
    hold?.release()
  }
}

async function checkReplaceable(
  tree: Tree,
  source: DriveFile,
  existing: DriveFile,
  options: { parent: string; name: string; overwrite: boolean; signal: AbortSignal },
): Promise<void> {
  const { parent, name, overwrite, signal } = options
  if (!overwrite) throw alreadyExists()
  if (isFolder(existing) && !isFolder(source)) throw notAFile()
  if (isFolder(source) && !isFolder(existing)) throw notADirectory()
  if (isDoc(existing)) throw notReplaceable()
  const twins = (await tree.ids.twins(parent, name, signal)).filter(twin => !isDoc(twin) && twin.id !== source.id)
  if (twins.length > 1) {
    const message = 'Several files have this name: rename or delete some of them in Google Drive first.'
    throw new StorageError('PERMISSION_DENIED', message)
  }
  if (isFolder(existing) && !(await tree.files.isEmpty(existing.id, signal))) {
    throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
  }
}

/** Returns the name to store in Drive. @throws INVALID_PATH where a document would lose the ending of its export */
function nameFor(source: DriveFile, to: readonly string[]): string {
  const name = to.at(-1) ?? ''
  const ending = extensionOf(source.mimeType)
  if (!name.endsWith(ending) || name.length === ending.length) {
    throw new StorageError('INVALID_PATH', `The name of this Google document ends in ${ending}: keep that ending.`)
  }
  return toStored(name.slice(0, name.length - ending.length))
}

/** The trash of Drive, which empties itself after 30 days: https://support.google.com/drive/answer/2375102. */
export function driveTrash(tree: Tree): NativeTrash {
  const { files, ids } = tree

  async function find(id: string, signal: AbortSignal): Promise<DriveFile | undefined> {
    const file = await files.find(id, signal)
    return file?.explicitlyTrashed ? file : undefined
  }

  return {
    identify: (path, { signal }) =>
      withStorageErrors(google, signal, async () => {
        const found = path === '' ? undefined : await ids.find(segmentsOf(path), signal, 'verified')
        if (!found) throw notFound()
        return found.file.id
      }),

    put: (id, path, { signal }) =>
      withStorageErrors(google, signal, async () => {
        const file = await files.update(id, { trashed: true }, signal)
        if (isFolder(file)) ids.forget(segmentsOf(path))
      }),

    has: (id, { signal }) => withStorageErrors(google, signal, async () => (await find(id, signal)) !== undefined),

    restore: (id, to, { signal }): Promise<Entry> =>
      withStorageErrors(google, signal, async () => {
        const file = await find(id, signal)
        if (!file) throw notFound()
        const transfer = { from: [], to: segmentsOf(to), overwrite: false, signal }
        const restored = await atDestination(tree, transfer, file, parent =>
          restoreTo(tree, file, parent, nameFor(file, transfer.to), signal),
        )
        return toEntry(nameOf(to), restored)
      }),

    remove: (id, { signal }) =>
      withStorageErrors(google, signal, async () => {
        if (!(await find(id, signal))) return
        // Only the owner can delete a file at once. Drive deletes all others when it empties its trash.
        await files.remove(id, signal).catch(error => {
          if (!hasCode(error, 'PERMISSION_DENIED')) throw error
        })
      }),
  }
}

async function restoreTo(
  { files }: Tree,
  file: DriveFile,
  parent: string,
  name: string,
  signal: AbortSignal,
): Promise<DriveFile> {
  try {
    return await files.update(file.id, { name, trashed: false }, signal, { from: file.parents?.[0], to: parent })
  } catch (error) {
    if (!(error instanceof StorageError && error.code === 'UNAVAILABLE')) throw error
    // The file may be restored although the response was lost.
    const now = await files.find(file.id, signal)
    if (now?.name === name && now.parents?.includes(parent) && !now.trashed) return now
    throw error
  }
}
