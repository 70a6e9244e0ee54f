import { childOf, nameOf, parentOf, type StoragePath } from '../../auth/path.ts'
import { type Grant, grant } from '../../auth/policy.ts'
import type { ShareRecord } from '../../db/shares/record.ts'
import { AppError, type Reason } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import { candidates, nameTaken } from '../files/conflict.ts'

/** Reasons why there is no entry at a path. The folder above it may be a file. */
const absent: ReadonlySet<Reason> = new Set(['NOT_FOUND', 'NOT_A_FOLDER'])

/**
 * Returns the path for a dropped file with each folder numbered whose name a file has, so that the file can be stored and its
 * sender does not learn of the other one.
 */
export async function freeFolder(
  storage: Storage,
  granted: Grant<'write'>,
  { paths: [top] }: Pick<ShareRecord, 'paths'>,
  signal: AbortSignal,
): Promise<StoragePath> {
  async function kindAt(path: StoragePath): Promise<'file' | 'directory' | null> {
    try {
      return (await (await storage.writeAt(grant(granted.viewer, { ...granted, path }))).stat(signal)).kind
    } catch (error) {
      if (error instanceof AppError && absent.has(error.reason)) return null
      throw error
    }
  }

  /** Returns the folder, or a numbered one that is no file. */
  async function free(folder: StoragePath): Promise<StoragePath> {
    if (folder === top) return folder
    const kind = await kindAt(folder)
    if (kind === 'directory') return folder
    if (kind === null) return childOf(await free(parentOf(folder)), nameOf(folder))
    for (const candidate of candidates(folder, 'directory')) {
      if (candidate !== folder && (await kindAt(candidate)) !== 'file') return candidate
    }
    throw nameTaken(folder)
  }

  return childOf(await free(parentOf(granted.path)), nameOf(granted.path))
}
