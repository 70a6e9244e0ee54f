import type { Entry } from '../../contract.ts'
import type { DriveFile } from './names.ts'
import { exportTypeOf, isDoc, isFolder } from './names.ts'

export function toEntry(name: string, file: DriveFile): Entry {
  const modifiedAt = file.modifiedTime ? new Date(file.modifiedTime) : null
  // Unique in all of Drive, and the same for every account that the file is shared with.
  const fileId = `google-drive:${file.id}`
  if (isFolder(file)) return { name, kind: 'directory', size: null, modifiedAt, etag: null, mimeType: null, fileId }
  // Two exports of one version differ, so they have no etag.
  if (isDoc(file)) {
    const mimeType = exportTypeOf(file.mimeType) ?? null
    return { name, kind: 'file', size: null, modifiedAt, etag: null, mimeType, fileId, isExport: true }
  }
  const checksums = {
    ...(file.md5Checksum && { md5: file.md5Checksum }),
    ...(file.sha1Checksum && { sha1: file.sha1Checksum }),
    ...(file.sha256Checksum && { sha256: file.sha256Checksum }),
  }
  return {
    name,
    kind: 'file',
    size: file.size ? Number(file.size) : null,
    modifiedAt,
    etag: etagOf(file),
    mimeType: file.mimeType,
    fileId,
    ...(Object.keys(checksums).length > 0 ? { checksums } : {}),
  }
}

/** A revision identifies the content and survives renames, moves and sharing. */
export function etagOf({ id, headRevisionId, md5Checksum, size }: DriveFile): string | null {
  const content = headRevisionId ?? (md5Checksum ? `${md5Checksum}-${size}` : undefined)
  return content === undefined ? null : `${id}.${content}`
}
