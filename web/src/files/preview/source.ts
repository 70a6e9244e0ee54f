/** The files of a folder, and their earlier versions, for viewers. */
import { stowage } from '../../api/client.ts'
import { childPath, nameOfPath, type StorageLocation } from '../../api/locations.ts'
import { type FileEntry, fileLink, onThisOrigin, thumbnailOf } from '../operations.ts'
import { viewerKind } from './file-types.ts'
import { type Content, linkLifetime, type ViewedFile } from './viewer.ts'

/** The content of a file now, or that of an earlier version. */
export interface ContentLocation extends StorageLocation {
  /** The id of the version. */
  version?: string
}

/** Returns how viewers read a location. */
export function readerOf(at: ContentLocation): ViewedFile['read'] {
  return (range, signal) => stowage.files.download({ ...at, signal, ...(range && { range }) })
}

/** Reads what the server has made of a file. @throws StowageError */
async function renditionAt(path: string, signal: AbortSignal): Promise<Content> {
  const { body } = await stowage.request(path, { signal })
  return { body: body ?? new ReadableStream(), fileSize: null, etag: null }
}

export function storedFile(folder: StorageLocation, entry: FileEntry): ViewedFile {
  const at = { providerId: folder.providerId, path: childPath(folder.path, entry.name) }
  const { name, mimeType, size, modifiedAt } = entry
  return {
    name,
    kind: viewerKind(entry),
    mimeType,
    size,
    modifiedAt,
    id: at.providerId + at.path,
    read: readerOf(at),
    link: signal => fileLink(at, { inline: true, expiresIn: linkLifetime }, signal),
    picture: pixels => thumbnailOf(entry, pixels),
    rendition: signal => renditionAt(`/api/rendition?${new URLSearchParams(at)}`, signal),
  }
}

export function earlierFile(
  at: ContentLocation,
  version: { mimeType: string | null; size: number | null; modifiedAt: string | null; downloadUrl: string },
): ViewedFile {
  const { mimeType, size, modifiedAt, downloadUrl } = version
  const name = nameOfPath(at.path)
  return {
    name,
    kind: viewerKind({ name, mimeType }),
    mimeType,
    size,
    modifiedAt,
    id: JSON.stringify([at.providerId, at.path, at.version]),
    read: readerOf(at),
    link: async () => onThisOrigin(downloadUrl),
    picture: () => null,
    rendition: null,
  }
}
