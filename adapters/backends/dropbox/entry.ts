import type { Entry } from '../../contract.ts'
import { isFolder, type Metadata } from './api.ts'

/** @param name the name in the path, whose case can differ from that in Dropbox */
export function toEntry(name: string, metadata: Metadata): Entry {
  const fileId = idOf(metadata)
  if (isFolder(metadata)) {
    return { name, kind: 'directory', size: null, modifiedAt: null, etag: null, mimeType: null, fileId }
  }
  const modifiedAt = new Date(metadata.client_modified)
  // Two exports of one version can differ, so they have no etag.
  if (metadata.is_downloadable === false) {
    return { name, kind: 'file', size: null, modifiedAt, etag: null, mimeType: null, fileId, isExport: true }
  }
  return { name, kind: 'file', size: metadata.size, modifiedAt, etag: metadata.rev, mimeType: null, fileId }
}

/** The id of a shared folder is that of its namespace, which is the same wherever the folder is mounted. */
function idOf(metadata: Metadata): string {
  const namespace = isFolder(metadata) ? metadata.sharing_info?.shared_folder_id : undefined
  return namespace === undefined ? `dropbox:${metadata.id}` : namespaceId(namespace)
}

export const namespaceId = (namespace: string) => `dropbox:ns:${namespace}`

/** Dropbox stores whole seconds. */
export function formatTime(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}
