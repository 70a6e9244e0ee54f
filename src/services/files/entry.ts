import mime from 'mime'
import { childOf, nameOf, type StoragePath } from '../../auth/path.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'

/** A file or folder, as the services return it. */
export interface FileEntry extends CheckedEntry {
  readonly providerId: string
  readonly path: StoragePath
}

/** The location that a request names. */
export interface LocationInput {
  providerId: string
  /** Absolute within the provider, as the client sent it; not parsed yet. */
  path: string
}

export function entryAt(location: ReadLocation, entry: CheckedEntry): FileEntry {
  return toFileEntry(location.providerId, location.path, { ...entry, name: nameOf(location.path) })
}

export function entryIn(folder: ReadLocation, entry: CheckedEntry): FileEntry {
  return toFileEntry(folder.providerId, childOf(folder.path, entry.name), entry)
}

function toFileEntry(providerId: string, path: StoragePath, entry: CheckedEntry): FileEntry {
  return { ...entry, providerId, path, mimeType: entry.kind === 'file' ? mimeTypeOf(entry) : null }
}

/** Guesses the type from the name if the back end stores only the generic type. */
function mimeTypeOf({ mimeType, name }: CheckedEntry): string | null {
  return mimeType !== null && mimeType !== 'application/octet-stream' ? mimeType : (mime.getType(name) ?? mimeType)
}

/** Returns an opaque id, which stays the same until the entry is moved or renamed. */
export function entryId(entry: Pick<FileEntry, 'providerId' | 'path'>): string {
  return Buffer.from(`${entry.providerId}/${entry.path}`).toString('base64url')
}

/** A folder about which nothing but its path is known. */
export function unknownFolder(providerId: string, path: StoragePath): FileEntry {
  const nothing = { size: null, modifiedAt: null, etag: null, mimeType: null, checksums: {}, fileId: null }
  return { providerId, path, name: nameOf(path), kind: 'directory', isExport: false, ...nothing }
}

/** Replaces the last segment of a path. The result is unparsed text and may be an invalid path. */
export function siblingOf(path: string, name: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1) + name
}
