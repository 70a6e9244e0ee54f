import mime from 'mime'
import { childOf, nameOf, type StoragePath } from '../../auth/path.ts'
import type { ReadLocation } from '../../storage/location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'

/** A file or a folder as the entrances see it. */
export interface FileEntry extends CheckedEntry {
  readonly providerId: string
  readonly path: StoragePath
}

/** Where an entry is; the same at both entrances. */
export interface LocationInput {
  providerId: string
  /** Absolute within the provider, as the client gave it. */
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

/** The name knows better than a back end that was told nothing. */
function mimeTypeOf({ mimeType, name }: CheckedEntry): string | null {
  return mimeType !== null && mimeType !== 'application/octet-stream' ? mimeType : (mime.getType(name) ?? mimeType)
}

/** Opaque to clients; the same as long as the entry stays where it is. */
export function entryId(entry: Pick<FileEntry, 'providerId' | 'path'>): string {
  return Buffer.from(`${entry.providerId}/${entry.path}`).toString('base64url')
}
