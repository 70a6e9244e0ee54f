/**
 * The paths that a share link shows. They begin at what is shared, so they reveal no folder above it: at the top is the content
 * of the shared folder, or the shared files and folders by their names. They are translated here, and only here; every decision
 * and every other part of the server works on the real path.
 */

import { childOf, formatPath, isWithin, nameOf, parsePath, type StoragePath, segmentsOf } from '../../auth/path.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { ShareRecord } from '../../db/shares/shares.ts'
import { AppError } from '../../errors.ts'

/** A share that a request has opened with its link and, if it has one, its password. */
export interface OpenedShare {
  viewer: Viewer
  share: ShareRecord
}

type Top = Pick<ShareRecord, 'paths' | 'isFolder'>

/** Returns the real path; null for the top of a share that has no folder of its own. @throws INVALID_PATH, NOT_FOUND */
export function realPath({ paths, isFolder }: Top, shown: string): StoragePath | null {
  const segments = segmentsOf(parsePath(shown))
  const [folder] = paths
  if (isFolder && folder !== undefined) return joined(folder, segments)
  const [name, ...below] = segments
  if (name === undefined) return null
  const top = paths.find(path => nameOf(path) === name)
  if (top === undefined) throw new AppError('NOT_FOUND', 'Nothing is shared at this path.')
  return joined(top, below)
}

/** @throws INVALID_PATH if the result is too long */
function joined(top: StoragePath, below: readonly string[]): StoragePath {
  return below.reduce<StoragePath>((path, name) => childOf(path, name), top)
}

/** Returns the path that a link shows, for a real path within the share. */
export function shownPath({ paths, isFolder }: Top, real: StoragePath): string {
  const top = paths.find(path => isWithin(real, path))
  if (top === undefined) throw new Error('The path is not within the share')
  const below = segmentsOf(real).slice(segmentsOf(top).length)
  return formatPath((isFolder ? below : [nameOf(top), ...below]).join('/') as StoragePath)
}
