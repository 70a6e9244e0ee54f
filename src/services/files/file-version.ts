/** Opens and copies earlier versions of files, which Stowage or the back end keeps. */
import { isId, noSuchVersion } from '../../auth/id.ts'
import { authorize, needs } from '../../auth/needs.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import { nativeIdOf, restoreNative } from '../versions/native.ts'
import { resolveConflict, statOrNull, taken } from './conflict.ts'
import { copyFile } from './copying.ts'
import { entryAt, type FileEntry } from './entry.ts'
import { type CopyInput, openDestinations } from './transfer.ts'

/** Finds an earlier version that Stowage keeps by its id and path, where `ReadLocation.version` opens it. */
export type FindVersion = (id: string, at: Pick<ReadLocation, 'providerId' | 'path'>) => Promise<{ id: string } | null>

/** Returns the location of an earlier version of the file at a location. @throws NOT_FOUND */
export async function locationOfVersion(
  findVersion: FindVersion,
  file: ReadLocation,
  id: string,
): Promise<ReadLocation> {
  const native = nativeIdOf(id)
  if (native !== null) return file.nativeVersion(native)
  const version = isId(id) ? await findVersion(id, file) : null
  if (!version) throw noSuchVersion()
  return file.version(version.id)
}

/** Copies an earlier version of a file, also to the path of the file itself. @throws as `copy` of transfers, NOT_FOUND, NOT_A_FILE */
export async function copyVersion(
  { storage, findVersion }: { storage: Storage; findVersion: FindVersion },
  viewer: Viewer | null,
  { version, ...input }: CopyInput & { version: string },
  requestSignal: AbortSignal,
): Promise<FileEntry> {
  const granted = authorize(viewer, needs.copy, input)
  const [from, to] = granted
  const [file, at] = [await storage.readAt(from), await openDestinations(storage, viewer, to, input)]
  const source = await locationOfVersion(findVersion, file, version)
  const native = nativeIdOf(version)
  return storage.activeGrants.run(granted, requestSignal, async signal => {
    const entry = await source.stat(signal)
    return resolveConflict(to.path, 'file', input.conflict, async (path, overwrite) => {
      const destination = await at(path)
      if (native !== null) {
        const restored = await restoreNative(native, file, destination, { overwrite, signal })
        return restored === taken ? taken : entryAt(destination, restored)
      }
      const existing = await statOrNull(destination, signal)
      if (existing && !overwrite) return taken
      if (existing?.kind === 'directory') throw new AppError('NOT_A_FILE', 'A file does not replace a folder.')
      const copied = await copyFile(source, entry, destination, { overwrite, signal })
      return copied === taken ? taken : entryAt(destination, copied.copy)
    })
  })
}
