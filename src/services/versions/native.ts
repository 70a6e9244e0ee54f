/** Versions that back ends keep by themselves. The back end lists them, so nothing about them is in the database. */
import type { Secrets } from '../../auth/secrets.ts'
import type { EarlierVersion } from '../../db/file-versions.ts'
import { AppError } from '../../errors.ts'
import { exactBody } from '../../storage/body-streams.ts'
import { maxPageSize, type ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry, CheckedVersions } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull, type Taken, taken, unlessTaken } from '../files/conflict.ts'
import { signedCursors } from '../paging.ts'

/** A version in a list: one that Stowage keeps, or one that the back end keeps by itself, about which less is known. */
export type KeptVersion = Pick<EarlierVersion, 'id' | 'providerId' | 'path' | 'size' | 'modifiedAt' | 'etag'> & {
  [Name in 'userId' | 'replacedAt' | 'expiresAt']: EarlierVersion[Name] | null
}

const prefix = 'native:'

/** Returns the id of a version that a back end knows by this one. */
export function formatNativeId(id: string): string {
  return prefix + id
}

/** Returns the id that a back end knows a version by; null for the id of another version. */
export function nativeIdOf(id: string): string | null {
  return id.startsWith(prefix) ? id.slice(prefix.length) : null
}

/** @param location that of the file */
export function toKept({ providerId, path }: ReadLocation, version: CheckedVersions['versions'][number]): KeptVersion {
  return { ...version, id: formatNativeId(version.id), providerId, path, userId: null, expiresAt: null }
}

/** The cursor of the page at the back end, and the number of its versions that were shown. */
type NativePosition = [page: string | null, skip: number]

export interface NativePage {
  items: { version: KeptVersion; cursor: string }[]
  hasNext: boolean
}

function cursorsOf(secrets: Secrets, { providerId, path, grant }: ReadLocation) {
  return signedCursors(secrets, ['versions', providerId, path, grant.viewer.credentialId], 'list')
}

/** Returns the cursor before the first version of a location. */
export function nativeStart(secrets: Secrets, location: ReadLocation): string {
  return cursorsOf(secrets, location).encode([null, 0] satisfies NativePosition)
}

/** Returns one page, with one call of the back end. @param after null for the first page. @throws INVALID_CURSOR */
export async function listNative(
  secrets: Secrets,
  location: ReadLocation,
  { limit, after }: { limit: number; after: string | null },
  signal: AbortSignal,
): Promise<NativePage> {
  const cursors = cursorsOf(secrets, location)
  const [page, skip]: NativePosition = after === null ? [null, 0] : (cursors.decode(after) as NativePosition)
  const { versions, cursor } = await location.listNativeVersions(signal, { cursor: page, limit: limit + skip + 1 })
  const shown = versions.slice(skip, skip + limit)
  const isWhole = skip + shown.length === versions.length
  const items = shown.map((version, index) => {
    const position: NativePosition =
      isWhole && index === shown.length - 1 && cursor !== null ? [cursor, 0] : [page, skip + index + 1]
    return {
      version: toKept(location, version),
      cursor: cursors.encode(position),
    }
  })
  return { items, hasNext: !isWhole || cursor !== null }
}

/** The number of versions of one file through which a search goes. A back end can keep them without end. */
const maxSearched = 10_000

type NativeVersion = CheckedVersions['versions'][number]

/** Yields the newest versions of a file, the newest first. Returns whether these are all of them: it ends after `maxSearched`. */
export async function* newestNative(
  location: ReadLocation,
  signal: AbortSignal,
): AsyncGenerator<NativeVersion, boolean, undefined> {
  let count = 0
  let cursor: string | null = null
  do {
    const page: CheckedVersions = await location.listNativeVersions(signal, { cursor, limit: maxPageSize })
    yield* page.versions
    count += Math.max(1, page.versions.length)
    ;({ cursor } = page)
  } while (cursor !== null && count < maxSearched)
  return cursor === null
}

/** Yields the versions of a file, the newest first. @throws INVALID_INPUT after `maxSearched` of them */
export async function* searchNative(
  location: ReadLocation,
  signal: AbortSignal,
): AsyncGenerator<NativeVersion, void, undefined> {
  if (!(yield* newestNative(location, signal))) {
    const message = `The back end keeps more than ${maxSearched} versions of "/${location.path}", of which Stowage searches the newest: use the back end for older ones.`
    throw new AppError('INVALID_INPUT', message)
  }
}

/**
 * Brings a version back, at the back end if it can do that at this path.
 * @param options.onBytes is called for every chunk that passes through this server, with its length in bytes. A promise delays the chunk
 * @throws NOT_FOUND, NOT_A_FILE, as `WriteLocation.write`
 */
export async function restoreNative(
  id: string,
  source: ReadLocation,
  destination: WriteLocation,
  {
    overwrite,
    signal,
    onBytes,
  }: { overwrite: boolean; signal: AbortSignal; onBytes?: (bytes: number) => Promise<unknown> | undefined },
): Promise<CheckedEntry | Taken> {
  const version = source.nativeVersion(id)
  const { size, mimeType } = await version.stat(signal)
  const existing = await statOrNull(destination, signal)
  if (existing && !overwrite) return taken
  if (existing?.kind === 'directory') throw new AppError('NOT_A_FILE', 'A file does not replace a folder.')
  const isSame = destination.providerId === source.providerId && destination.path === source.path
  if (isSame && destination.canRestoreVersions) {
    return destination.restoreVersion(id, size, signal)
  }
  const { body } = await version.read(signal)
  const facts = { ...(size !== null && { size }), ...(mimeType !== null && { mimeType }) }
  const passing = exactBody(body, size, ({ length }) => onBytes?.(length))
  return unlessTaken(() => destination.write(signal, passing, { overwrite, ...facts }))
}

/** @throws INVALID_INPUT where only the back end deletes versions, LOCKED, ON_HOLD */
export async function deleteNative(id: string, location: WriteLocation, signal: AbortSignal): Promise<void> {
  if (!location.canDeleteVersions) {
    throw new AppError('INVALID_INPUT', 'This back end keeps its versions itself, and deletes them only by itself.')
  }
  await location.deleteVersion(id, signal)
}
