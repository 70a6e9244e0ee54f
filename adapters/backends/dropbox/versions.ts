/**
 * The revisions that Dropbox keeps of files, for 30 days or longer, as the plan of the account says. Dropbox deletes them by itself.
 * https://www.dropbox.com/developers/documentation/http/documentation#files-list_revisions
 */
import { noVersion } from '../../bases/errors.ts'
import { type Call, type NativeVersion, type NativeVersions, nameOf, type StoragePath } from '../../contract.ts'
import type { FileMetadata } from './api.ts'
import { toEntry } from './entry.ts'
import { type DropboxFiles, means } from './files.ts'
import { readRevision } from './read.ts'

/** The revisions of one request. */
const maxPage = 100

interface Revisions {
  /** The newest first. */
  entries: FileMetadata[]
  /** Whether the newest one of the first page was deleted or moved. */
  is_deleted: boolean
  has_more?: boolean
}

export function fileVersions(files: DropboxFiles): NativeVersions {
  /** Returns null for a path at which no file is or was. */
  async function page(path: StoragePath, before: string | undefined, limit: number, signal: AbortSignal) {
    const args = { path: files.pathOf(path), mode: 'path', limit, ...(before !== undefined && { before_rev: before }) }
    try {
      return await files.api.call<Revisions>('files/list_revisions', args, { signal })
    } catch (error) {
      if (means(error, 'NOT_FOUND', 'NOT_A_FILE')) return null
      throw error
    }
  }

  /** The id of a revision does not say whose it is. @throws NOT_FOUND */
  async function find(path: StoragePath, rev: string, signal: AbortSignal): Promise<FileMetadata> {
    let before: string | undefined
    do {
      const found = path === '' ? null : await page(path, before, maxPage, signal)
      const revision = found?.entries.find(each => each.rev === rev)
      if (revision) return revision
      before = found?.has_more ? found.entries.at(-1)?.rev : undefined
    } while (before !== undefined)
    throw noVersion()
  }

  const entryOf = (path: StoragePath, metadata: FileMetadata) => {
    const { fileId: _ofCurrent, ...entry } = toEntry(nameOf(path), metadata)
    return entry
  }

  return {
    async list(path, { signal, cursor, limit }) {
      // The first page also has the present revision.
      const found =
        path === ''
          ? null
          : await page(path, cursor, Math.min(maxPage, cursor === undefined ? limit + 1 : limit), signal)
      if (!found) return { versions: [] }
      const isCurrent = cursor === undefined && !found.is_deleted
      const versions = found.entries.map((each, index): NativeVersion => {
        const newer = found.entries[index - 1]
        return {
          id: each.rev,
          size: each.is_downloadable === false ? null : each.size,
          modifiedAt: new Date(each.client_modified),
          ...(newer && { replacedAt: new Date(newer.server_modified) }),
          etag: each.rev,
        }
      })
      const shown = versions.slice(isCurrent ? 1 : 0).slice(0, limit)
      const last = shown.at(-1)?.id ?? found.entries.at(-1)?.rev
      const isMore = found.has_more === true || last !== found.entries.at(-1)?.rev
      return { versions: shown, ...(isMore && last !== undefined && { cursor: last }) }
    },

    async stat(path, id, { signal }) {
      return entryOf(path, await find(path, id, signal))
    },

    async read(path, id, { signal, range }) {
      const revision = await find(path, id, signal)
      const { body, metadata } = await readRevision(files, revision.rev, { signal, range })
      return { body, entry: entryOf(path, metadata) }
    },

    async restore(path, id, { signal }: Call) {
      const { rev } = await find(path, id, signal)
      const restored = await files.api.call<FileMetadata>(
        'files/restore',
        { path: files.pathOf(path), rev },
        { signal, isCommit: true },
      )
      return toEntry(nameOf(path), restored)
    },
  }
}
