/**
 * Keeps local providers away from the server's own data: its database, its secret, its compiled code. Folders are compared
 * by device and inode, so links, mounts and the case of names make no difference.
 */
import { lstat, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isSame } from './root.ts'

/** The only folder in the data folder that local providers may use. */
const forProviders = 'files'

/**
 * Returns true if `folder` contains the data folder or is in it, except in its folder `files`.
 * @param folder absolute; it may be missing
 */
export async function reachesData(folder: string, dataFolder: string): Promise<boolean> {
  const [path, data] = await Promise.all([lineage(folder), lineage(dataFolder)])
  const contains = path.missing.length === 0 && data.folders.some(each => isSame(each, path.folders[0]))
  return contains || (data.missing.length === 0 && (await liesIn(path, data)))
}

async function liesIn(path: Lineage, data: Lineage): Promise<boolean> {
  const depth = path.folders.findIndex(each => isSame(each, data.folders[0]))
  if (depth < 0) return false
  const child = path.folders[depth - 1]
  if (!child) return path.missing[0] !== forProviders
  // `files` may be a link to another folder of the data folder, so compare with the link itself.
  const files = await lstat(join(data.path, forProviders), { bigint: true }).catch(() => null)
  return files === null || !isSame(child, files)
}

interface Folder {
  dev: bigint
  ino: bigint
}

interface Lineage {
  /** The part of the path that exists, with symbolic links resolved. */
  path: string
  /** Names below `path` that do not exist. */
  missing: readonly string[]
  /** The folder at `path`, then each of its parents. */
  folders: readonly [Folder, ...Folder[]]
}

async function lineage(folder: string, missing: readonly string[] = []): Promise<Lineage> {
  const path = await realpath(folder).catch(() => null)
  if (path === null) return lineage(dirname(folder), [basename(folder), ...missing])
  const folders = [await stat(path, { bigint: true })] as [Folder, ...Folder[]]
  for (let above = path; above !== dirname(above); ) {
    above = dirname(above)
    folders.push(await stat(above, { bigint: true }))
  }
  return { path, missing, folders }
}
