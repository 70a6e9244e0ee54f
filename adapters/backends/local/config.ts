import { constants, lstat, open, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type ConfigSchema, StorageError } from '../../contract.ts'
import { identityOf, isSame, type Root } from './open.ts'

export type LocalConfig = { root: string }

/** The operator's settings. */
export interface LocalOptions {
  /** Absolute folders. A provider's root is one of them or below one. The first one is the default. */
  localRoots: readonly string[]
  /** The server's own data folder, absolute. */
  dataFolder: string
}

export function configSchema(localRoots: readonly string[]): ConfigSchema {
  const [first] = localRoots
  return {
    type: 'object',
    properties: {
      root: {
        type: 'string',
        title: 'Folder',
        description: `An absolute path on the server, in one of the folders that it allows: ${localRoots.join(', ')}`,
        pattern: '^/',
        picksFolder: true,
        ...(first === undefined ? {} : { default: first }),
      },
    },
    required: ['root'],
  }
}

/** @throws INVALID_CONFIG */
export async function resolveRoot({ root }: LocalConfig, { localRoots, dataFolder }: LocalOptions): Promise<Root> {
  await refuseOtherSystems()
  const allowed = `one of the folders in STOWAGE_LOCAL_ROOTS (now: ${localRoots.join(', ') || 'none'}), or below one`
  const refuse = (problem: string, cause?: unknown) =>
    new StorageError('INVALID_CONFIG', `${root} ${problem}. The root must be a folder that exists: ${allowed}.`, {
      cause,
    })
  const path = await realpath(root).catch(error => {
    throw refuse('cannot be found or opened', error)
  })
  // A symbolic link in the path is the operator's choice. The folder that it leads to has to be allowed.
  const roots = await Promise.allSettled(localRoots.map(folder => realpath(folder)))
  if (!roots.some(folder => folder.status === 'fulfilled' && isWithin(path, folder.value))) {
    throw refuse('is outside of the folders that local providers may use')
  }
  if (await reachesData(path, dataFolder)) throw refuse("contains the server's own data, or is in it")
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY).catch(error => {
    throw refuse('is not a folder that the server can read', error)
  })
  try {
    return { path, ...(await identityOf(handle)) }
  } finally {
    await handle.close()
  }
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

async function refuseOtherSystems(): Promise<void> {
  await stat('/proc/self/fd').catch(error => {
    const message = 'Local storage needs Linux with /proc mounted, and this server has none: choose another type.'
    throw new StorageError('INVALID_CONFIG', message, { cause: error })
  })
}

/** The only folder in the data folder that local providers may use. */
const forProviders = 'files'

/**
 * Returns true if `folder` contains the data folder or is in it, except in its folder `files`. This keeps local providers away from
 * the server's own data: its database, its secret, its compiled code. Folders are compared by device and inode, so links, mounts
 * and the case of names make no difference.
 * @param folder absolute; it may be missing
 */
export async function reachesData(folder: string, dataFolder: string): Promise<boolean> {
  const [path, data] = await Promise.all([lineage(folder), lineage(dataFolder)])
  const contains = path.missing.length === 0 && data.folders.some(each => isSame(each, path.folders[0]))
  return contains || (data.missing.length === 0 && (await liesIn(path, data)))
}

/** Returns true for the data folder and all folders in it, except `files`. @param folder absolute; it exists */
export async function isInData(folder: string, dataFolder: string): Promise<boolean> {
  const [path, data] = await Promise.all([lineage(folder), lineage(dataFolder)])
  return data.missing.length === 0 && (await liesIn(path, data))
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
