import { hasCode, notFound } from '../../bases/cloud/failure.ts'
import { withStorageErrors } from '../../bases/cloud/http.ts'
import { type Entry, type NativeTrash, nameOf, StorageError, segmentsOf } from '../../contract.ts'
import type { DriveFile } from './api.ts'
import type { Tree } from './destination.ts'
import { toEntry } from './entry.ts'
import { google } from './errors.ts'
import { isFolder } from './names.ts'
import { atDestination, nameFor } from './transfer.ts'

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
