import { whiteSpace } from '../../bases/cloud/names.ts'
import { folderEntry } from '../../bases/errors.ts'
import { type Entry, StorageError, type StoragePath, segmentsOf, type Traits } from '../../contract.ts'
import { isFolder, type Metadata } from './api.ts'

/** @param name the name in the path, whose case can differ from that in Dropbox */
export function toEntry(name: string, metadata: Metadata): Entry {
  const fileId = idOf(metadata)
  if (isFolder(metadata)) return folderEntry(name, fileId)
  const modifiedAt = new Date(metadata.client_modified)
  // Two exports of one version can differ, so they have no etag.
  if (metadata.is_downloadable === false) {
    return { name, kind: 'file', size: null, modifiedAt, etag: null, mimeType: null, fileId, isExport: true }
  }
  return { name, kind: 'file', size: metadata.size, modifiedAt, etag: metadata.rev, mimeType: null, fileId }
}

/** The id of a shared folder is that of its namespace, which is the same wherever the folder is mounted. */
export function idOf(metadata: Metadata): string {
  const namespace = isFolder(metadata) ? metadata.sharing_info?.shared_folder_id : undefined
  return namespace === undefined ? `dropbox:${metadata.id}` : namespaceId(namespace)
}

export const namespaceId = (namespace: string) => `dropbox:ns:${namespace}`

/** Dropbox stores whole seconds. */
export function formatTime(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}

/** Characters (help.dropbox.com/organize/file-names). */
const maxLength = 255

/** Names that Dropbox refuses, or stores under other names. Dropbox refuses more names than these. */
export const nameTraits = {
  forbiddenInNames: '\\\u007f',
  forbiddenAtEndOfNames: whiteSpace,
} satisfies Partial<Traits>

/** @throws INVALID_PATH for a name that is too long */
export function requireStorable(path: StoragePath): void {
  if (segmentsOf(path).some(name => name.length > maxLength)) throw badName()
}

export const badName = () => new StorageError('INVALID_PATH', 'Dropbox cannot store exactly this name: choose another.')
