/** The replacement of a file at a server that refuses to rename another file over it. */
import { randomUUID } from 'node:crypto'
import type { Call, Host, StoragePath } from '../../contract.ts'
import type { PlainFiles, RenameOptions } from './files.ts'
import { replacedPrefix, type Staging, stagedAt } from './staging.ts'

/** Milliseconds for each rename. The signal of the request does not end it, because the server may still carry it out. */
const renameTime = 30_000

export interface ReplaceContext {
  files: PlainFiles
  staging: Staging
  host: Pick<Host, 'warn'>
}

/**
 * Renames the file `to` to a hidden name, then `from` to `to`, and removes the hidden file. If the second rename fails, or the
 * request ends before it, the file gets its name back.
 */
export async function replaceByRenames(
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
