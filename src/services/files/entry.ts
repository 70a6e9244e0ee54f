import mime from 'mime'
import type { Asked, Authorized, needs } from '../../auth/needs.ts'
import { childOf, nameOf, type StoragePath } from '../../auth/path.ts'
import type { Grant } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'

/** The key of the grant with which an entry was found. A symbol never gets into JSON. */
export const foundWith = Symbol('found with')

/** A file or folder, as the services return it. */
export interface FileEntry extends CheckedEntry {
  /** Null for a folder on the way to what the viewer can access. */
  readonly [foundWith]: Grant | null
  readonly providerId: string
  readonly path: StoragePath
}

/** The location that a request names. */
export interface LocationInput {
  providerId: string
  /** Absolute within the provider, as the client sent it; not parsed yet. */
  path: string
}

/** The location that a request names, or the decision that its viewer may read there. */
export type AskedToRead = Asked<typeof needs.read>

/** Returns the location of an input, for the audit log. */
export function locationOf(input: LocationInput | { authorized: Authorized }): LocationInput | Grant {
  return 'authorized' in input ? input.authorized.locations[0] : { providerId: input.providerId, path: input.path }
}

export function entryAt(location: ReadLocation, entry: CheckedEntry): FileEntry {
  return toFileEntry(location, location.path, { ...entry, name: nameOf(location.path) })
}

export function entryIn(folder: ReadLocation, entry: CheckedEntry): FileEntry {
  return toFileEntry(folder, childOf(folder.path, entry.name), entry)
}

function toFileEntry({ providerId, grant }: ReadLocation, path: StoragePath, entry: CheckedEntry): FileEntry {
  const mimeType = entry.kind === 'file' ? mimeTypeOf(entry) : null
  return { ...entry, providerId, path, mimeType, [foundWith]: grant }
}

/** Guesses the type from the name if the back end stores only the generic type. */
function mimeTypeOf({ mimeType, name }: CheckedEntry): string | null {
  return mimeType !== null && mimeType !== 'application/octet-stream' ? mimeType : (impliedType(name) ?? mimeType)
}

/** Returns the type that a name implies, or null. */
export function impliedType(name: string): string | null {
  return mime.getType(name)
}

/** Returns an opaque id, which stays the same until the entry is moved or renamed. */
export function entryId(entry: Pick<FileEntry, 'providerId' | 'path'>): string {
  return Buffer.from(`${entry.providerId}/${entry.path}`).toString('base64url')
}

/** A folder about which nothing but its path is known. */
export function unknownFolder(providerId: string, path: StoragePath, grant: Grant | null): FileEntry {
  const nothing = { size: null, modifiedAt: null, etag: null, mimeType: null, checksums: {}, fileId: null }
  return { providerId, path, name: nameOf(path), kind: 'directory', isExport: false, ...nothing, [foundWith]: grant }
}

/** An entry as the catalogue knows it. */
export function catalogueEntry(
  providerId: string,
  path: StoragePath,
  facts: Pick<CheckedEntry, 'kind' | 'size' | 'modifiedAt' | 'etag' | 'checksums'>,
): FileEntry {
  const entry = { ...facts, name: nameOf(path), mimeType: null, fileId: null, isExport: false }
  const mimeType = facts.kind === 'file' ? mimeTypeOf(entry) : null
  return { ...entry, providerId, path, mimeType, [foundWith]: null }
}

/** Replaces the last segment of a path. The result is unparsed text and may be an invalid path. */
export function siblingOf(path: string, name: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1) + name
}

/** Whether an error says that there is no such entry, also because it would be below a file. */
export function isNoEntry(error: unknown): boolean {
  return error instanceof AppError && (error.reason === 'NOT_FOUND' || error.reason === 'NOT_A_FOLDER')
}

/** Returns null for the error of a missing entry. @throws any other error */
export function nullIfNoEntry(error: unknown): null {
  if (isNoEntry(error)) return null
  throw error
}
