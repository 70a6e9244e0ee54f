import { alreadyExists, hasCode, notADirectory, notAFile, notEmpty, notFound } from '../../bases/errors.ts'
import { type Entry, type NativeTrash, nameOf, StorageError, segmentsOf } from '../../contract.ts'
import { pathKey, settleNew, type Tree } from './destination.ts'
import { notReplaceable } from './errors.ts'
import type { FolderHold } from './folders.ts'
import type { DriveFile } from './names.ts'
import { extensionOf, isDoc, isFolder, toEntry, toStored } from './names.ts'

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
      const moved = await moveTo(tree, source, parent, { name: nameFor(source.file, transfer.to) }, signal)
      if (isFolder(source.file)) for (const path of [from, transfer.to]) tree.ids.forget(path)
      if (existing) await tree.files.trash(existing.id, signal)
      return moved
    })
  })
}

/** Moves a file to another folder, renames it, restores it from the trash, or several of these. */
export async function moveTo(
  { files }: Tree,
  { file, parent: from }: { file: DriveFile; parent: string | undefined },
  to: string,
  change: { name: string; trashed?: false },
  signal: AbortSignal,
): Promise<DriveFile> {
  try {
    return await files.update(file.id, change, signal, { from, to })
  } catch (error) {
    if (!hasCode(error, 'UNAVAILABLE')) throw error
    // The move may have succeeded although its response was lost.
    const now = await files.find(file.id, signal)
    if (now?.name === change.name && now.parents?.includes(to) && !now.trashed) return now
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
    throw notEmpty()
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
    async identify(path, { signal }) {
      const found = path === '' ? undefined : await ids.find(segmentsOf(path), signal, 'verified')
      if (!found) throw notFound()
      return found.file.id
    },

    async put(id, path, { signal }) {
      const file = await files.update(id, { trashed: true }, signal)
      if (isFolder(file)) ids.forget(segmentsOf(path))
    },

    has: async (id, { signal }) => (await find(id, signal)) !== undefined,

    async restore(id, to, { signal }): Promise<Entry> {
      const file = await find(id, signal)
      if (!file) throw notFound()
      const transfer = { from: [], to: segmentsOf(to), overwrite: false, signal }
      const source = { file, parent: file.parents?.[0] }
      const restored = await atDestination(tree, transfer, file, parent =>
        moveTo(tree, source, parent, { name: nameFor(file, transfer.to), trashed: false }, signal),
      )
      return toEntry(nameOf(to), restored)
    },

    async remove(id, { signal }) {
      if (!(await find(id, signal))) return
      // Only the owner can delete a file at once. Drive deletes all others when it empties its trash.
      await files.remove(id, signal).catch(error => {
        if (!hasCode(error, 'PERMISSION_DENIED')) throw error
      })
    },
  }
}
