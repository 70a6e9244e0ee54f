import { randomUUID } from 'node:crypto'
import { type Call, type Host, parentOf, StorageError, type StoragePath } from '../../contract.ts'
import { isRefusal, missing, refuseTarget } from './errors.ts'
import type { PlainFiles, RenameOptions } from './files.ts'
import { replacedPrefix, type Staging, stagedAt } from './staging.ts'

/** Milliseconds for each rename. The signal of the request does not end it, because the server may still carry it out. */
const renameTime = 30_000

interface ReplaceContext {
  files: PlainFiles
  staging: Staging
  host: Pick<Host, 'warn'>
}

/**
 * Replaces a file at a server that refuses to rename another file over it. Renames the file `to` to a hidden name, then `from` to `to`, and removes the hidden file. If the second rename fails, or the
 * request ends before it, the file gets its name back.
 */
async function replaceByRenames(
  { files, staging, host }: ReplaceContext,
  from: StoragePath,
  to: StoragePath,
  options: RenameOptions,
): Promise<void> {
  const hidden = stagedAt(`${replacedPrefix}${randomUUID()}`)
  const replace = async () => {
    await files.rename(to, hidden, { ...ownCall(), kind: 'file', overwrite: false })
    options.signal.throwIfAborted()
    await files.rename(from, to, { ...options, ...ownCall() })
  }
  /**
   * Finds out which renames the server carried out, because a lost connection does not show it. Returns whether the file was
   * replaced.
   */
  const undo = async (): Promise<boolean> => {
    const call = ownCall()
    const [source, target, old] = await Promise.all([from, to, hidden].map(path => files.find(path, call)))
    if (!old) return false
    if (target && !source) return true
    if (target) throw new Error('Another file has taken the name')
    await files.rename(hidden, to, { ...call, kind: 'file', overwrite: false })
    return false
  }
  await staging.inFolder(options, () =>
    replace().catch(async error => {
      const isReplaced = await undo().catch(failure => {
        const message = 'A file that was to be replaced may have kept its hidden name: rename it back at the server'
        host.warn(message, { path: to, hiddenName: hidden, error: failure })
        return false
      })
      if (!isReplaced) throw error
    }),
  )
  await files.removeFile(hidden, ownCall()).catch(error => {
    const message = 'A replaced file could not be removed: remove it at the server'
    host.warn(message, { path: to, hiddenName: hidden, error })
  })
}

function ownCall(): Call {
  return { signal: AbortSignal.timeout(renameTime) }
}

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
