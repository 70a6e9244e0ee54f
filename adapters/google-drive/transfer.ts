import { StorageError } from '../contract.ts'
import type { DriveFile } from './api.ts'
import { pathKey, settleNew, type Tree } from './destination.ts'
import { extensionOf } from './docs.ts'
import { isGoogleDoc, notADirectory, notAFile, notFound, taken } from './errors.ts'
import type { Held } from './folders.ts'
import type { Found } from './ids.ts'
import { isDoc, isFolder, toStored } from './names.ts'

interface Transfer {
  from: readonly string[]
  to: readonly string[]
  overwrite: boolean
  signal: AbortSignal
}

/** One request for Drive, whatever lies beneath. */
export async function moveEntry(tree: Tree, transfer: Transfer): Promise<DriveFile> {
  const { from, signal } = transfer
  const found = await tree.ids.find(from, signal, 'verified')
  if (!found) throw notFound()
  // Of several moves of one file, those that come later must find that it is gone.
  return await tree.locks.run(`id:${found.file.id}`, signal, async () => {
    const source = await tree.ids.find(from, signal, 'verified')
    if (!source || source.file.id !== found.file.id) throw notFound()
    return await intoPlace(tree, transfer, source.file, async (parent, existing) => {
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
  source: Found,
  to: string,
  name: string,
  signal: AbortSignal,
): Promise<DriveFile> {
  const { file, parent: from } = source
  try {
    return await tree.files.update(file.id, { name }, signal, { from, to })
  } catch (error) {
    if (!(error instanceof StorageError && error.code === 'UNAVAILABLE')) throw error
    // Perhaps only the response was lost.
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
  return await intoPlace(tree, transfer, source.file, async (parent, existing) => {
    // A copy would be a new file: through `write` the one that is there keeps its id and with whom it is shared.
    if (existing) throw new StorageError('NOT_IN_ONE_STEP', 'Google Drive cannot copy over a file that is there.')
    const { file } = source
    if (to.join('/') === from.join('/')) return file
    let id = isDoc(file) ? undefined : await tree.files.newId(signal)
    try {
      const copied = await tree.files.copy(file.id, id, parent, nameFor(file, to), signal)
      id = copied.id
      return await settleNew(tree, copied, { segments: to, parent, overwrite, signal })
    } catch (error) {
      if (id !== undefined) await tree.files.undo(id)
      throw error
    }
  })
}

/** Checks what is at the target, makes its folders, and takes them away again where `work` fails. */
async function intoPlace(
  tree: Tree,
  { from, to, overwrite, signal }: Transfer,
  source: DriveFile,
  work: (parent: string, existing: DriveFile | undefined) => Promise<DriveFile>,
): Promise<DriveFile> {
  nameFor(source, to)
  const name = to.at(-1) ?? ''
  let held: Held | undefined
  try {
    held = await tree.folders.hold(to.slice(0, -1), signal)
    const { id: parent } = held
    return await tree.locks.run(pathKey(to), signal, async () => {
      const existing = await tree.ids.lookUp(parent, name, signal)
      const isItself = existing?.id === source.id && from.join('/') === to.join('/')
      if (existing && !isItself) await checkReplaceable(tree, source, existing, { parent, name, overwrite, signal })
      const replaced = existing?.id === source.id ? undefined : existing
      return await work(parent, replaced)
    })
  } catch (error) {
    await held?.undo()
    throw error
  } finally {
    held?.release()
  }
}

async function checkReplaceable(
  tree: Tree,
  source: DriveFile,
  existing: DriveFile,
  place: { parent: string; name: string; overwrite: boolean; signal: AbortSignal },
): Promise<void> {
  const { parent, name, overwrite, signal } = place
  if (!overwrite) throw taken()
  if (isFolder(existing) && !isFolder(source)) throw notAFile()
  if (isFolder(source) && !isFolder(existing)) throw notADirectory()
  if (isDoc(existing)) throw isGoogleDoc()
  const twins = (await tree.ids.twins(parent, name, signal)).filter(twin => !isDoc(twin) && twin.id !== source.id)
  if (twins.length > 1) {
    const message = 'Several files have this name: rename or delete some of them in Google Drive first.'
    throw new StorageError('PERMISSION_DENIED', message)
  }
  if (isFolder(existing) && !(await tree.files.isEmpty(existing.id, signal))) {
    throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
  }
}

/** What Drive is to call it. @throws INVALID_PATH where a document would lose the ending that it is shown with */
function nameFor(source: DriveFile, to: readonly string[]): string {
  const name = to.at(-1) ?? ''
  const ending = extensionOf(source.mimeType)
  if (!name.endsWith(ending) || name.length === ending.length) {
    throw new StorageError('INVALID_PATH', `This Google document is shown with the ending ${ending}: keep it.`)
  }
  return toStored(name.slice(0, name.length - ending.length))
}
