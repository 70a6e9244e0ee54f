/**
 * Whether a local provider would reach the server's own data: its database, its secret, its compiled code. Folders are
 * compared by device and inode, so links, mounts and the case of a name make no difference.
 */
import { lstat, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isSame } from './root.ts'

/** The folder in the data folder that is there for local providers. */
const forProviders = 'files'

/** @param folder absolute; need not exist yet */
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
  // `files` may itself be a link that leads elsewhere in the data folder: then it is not what lies there.
  const files = await lstat(join(data.path, forProviders), { bigint: true }).catch(() => null)
  return files === null || !isSame(child, files)
}

interface Folder {
  dev: bigint
  ino: bigint
}

interface Lineage {
  /** Without symbolic links, as far as it exists. */
  path: string
  /** Names below `path` that do not exist. */
  missing: readonly string[]
  /** `path` itself, then each folder above it. */
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
