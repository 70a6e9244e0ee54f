import { type Call, parentOf, StorageError, type StoragePath } from '../../contract.ts'
import { isRefusal, missing, refuseTarget } from './errors.ts'
import type { PlainFiles, RenameOptions } from './files.ts'
import { type ReplaceContext, replaceByRenames } from './replace.ts'

/** Makes a folder and its missing parents. Resolves with the folders that it made, the deepest last. @throws NOT_A_DIRECTORY */
export async function makeFolders(files: PlainFiles, path: StoragePath, call: Call): Promise<StoragePath[]> {
  const made: StoragePath[] = []
  const make = async (folder: StoragePath, hasParent: boolean): Promise<void> => {
    if (folder === '') return
    try {
      await files.makeFolder(folder, call)
      made.push(folder)
    } catch (error) {
      if (!isRefusal(error)) throw error
      const existing = await files.find(folder, call)
      if (existing?.kind === 'directory') return
      if (existing) throw new StorageError('NOT_A_DIRECTORY', 'A parent of this path is a file.')
      if (hasParent) throw error
      await make(parentOf(folder), false)
      await make(folder, true)
    }
  }
  await make(path, false)
  return made
}

/**
 * Renames, and makes missing parents. Folders that it made are removed if it fails.
 * @throws NOT_FOUND, ALREADY_EXISTS, NOT_A_FILE, NOT_A_DIRECTORY
 */
export async function renameWithParents(
  context: ReplaceContext,
  from: StoragePath,
  to: StoragePath,
  options: RenameOptions,
): Promise<void> {
  const { files } = context
  const { overwrite, signal } = options
  const call = { signal }
  /** @throws the reason of a refusal, if the paths show one */
  const isFileAtTarget = async (): Promise<boolean> => {
    const source = (await files.find(from, call)) ?? missing()
    const target = await files.find(to, call)
    refuseTarget(target, source.kind, overwrite)
    return target?.kind === 'file'
  }
  let isFileInTheWay = false
  await withParents(files, to, call, {
    async work() {
      // Some servers do not replace files.
      if (isFileInTheWay) await replaceByRenames(context, from, to, options)
      else await files.rename(from, to, options)
    },
    async explain() {
      isFileInTheWay = await isFileAtTarget()
    },
  })
}

/**
 * Runs `work`, which stores something at a path. Where it is refused, makes missing parents and runs it again. Folders that it
 * made are removed if it fails.
 * @param explain rejects with the reason of a refusal, if the paths show one
 */
export async function withParents(
  files: PlainFiles,
  path: StoragePath,
  call: Call,
  { work, explain }: { work(): Promise<void>; explain(): Promise<void> },
): Promise<void> {
  try {
    return await work()
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
  await explain()
  const made = await makeFolders(files, parentOf(path), call)
  try {
    await work()
  } catch (error) {
    for (const folder of made.reverse()) await files.removeFolder(folder, call).catch(() => {})
    if (isRefusal(error)) await explain()
    throw error
  }
}
