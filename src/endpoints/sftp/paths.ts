/** Paths as clients of SFTP write them: `/<slug>/<path in the storage>`. The working folder is the list of storages. */
import { AppError } from '../../errors.ts'
import type { LocationInput } from '../../services/files/index.ts'

/** A path without `.`, `..` and repeated slashes. No entry is a link, so `..` is the folder of the name before it. */
export type SftpPath = string & { readonly isSftpPath: true }

export const top = '/' as SftpPath

/** Bytes: those of a path in a storage, and of its slug. */
export const maxPathBytes = 4096 + 256

export function parseSftpPath(text: string): SftpPath {
  const names: string[] = []
  for (const name of text.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return `/${names.join('/')}` as SftpPath
}

/** Returns the slug and the path in its storage, which is not parsed yet; null for the list of storages. */
export function splitPath(path: SftpPath): { slug: string; path: string } | null {
  if (path === top) return null
  const end = path.indexOf('/', 1)
  return end < 0 ? { slug: path.slice(1), path: '/' } : { slug: path.slice(1, end), path: path.slice(end) }
}

export function parentPath(path: SftpPath): SftpPath {
  return parseSftpPath(path.slice(0, path.lastIndexOf('/')))
}

/** Returns whether one of the paths is the other, or in it. */
export function areRelated(one: SftpPath, other: SftpPath): boolean {
  const [upper, lower] = one.length < other.length ? [one, other] : [other, one]
  return upper === top || lower === upper || lower.startsWith(`${upper}/`)
}

/** An entry in a storage. */
export interface SftpTarget extends LocationInput {
  sftpPath: SftpPath
}

export function onlyStorages(): AppError {
  return new AppError('OUTSIDE_BASE_PATH', 'This folder only lists the storages: go into one of them.')
}
