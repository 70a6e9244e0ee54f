import { mkdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** A user and a group of the system, by number. */
export interface Owner {
  uid: number
  gid: number
}

/**
 * The paths inside the data folder:
 *
 *     postgres/            if another user runs PostgreSQL, that user can enter this folder, but write nothing in it
 *       lock               locked by the owner while it runs (lock.ts)
 *       owner.json         identifies the current owner (shared-server.ts)
 *       lib/<major>/       links for libraries that the npm package ships without them (binaries.ts)
 *       data/              the cluster, mode 0700, the socket in it
 *       data.new/          an incomplete cluster; the start after a kill deletes it
 *       data.upgraded/     a complete cluster that will replace data/ (upgrade.ts)
 *       data.pg<major>/    the old data/, kept by an upgrade
 */
export interface Layout {
  root: string
  /** The owner of `root`. Files in it are created for this owner, so that a start as root does not lock the owner out. */
  owner: Owner
  lock: string
  ownerRecord: string
  libraries: string
  data: string
  fresh: string
  upgraded: string
  exchange: string
}

export async function makeLayout(dataFolder: string): Promise<Layout> {
  try {
    await mkdir(join(dataFolder, 'postgres'), { recursive: true, mode: 0o711 })
    return await layoutIn(dataFolder)
  } catch (error) {
    if (!isErrno(error, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENOSPC')) throw error
    throw new EmbeddedPostgresError(
      `The data folder ${dataFolder} cannot be used (${(error as Error).message}): make it writable for this user, or choose another one.`,
      { cause: error },
    )
  }
}

/** Returns the layout of an existing data folder. */
export async function layoutIn(dataFolder: string): Promise<Layout> {
  const root = join(await realpath(dataFolder), 'postgres')
  const { uid, gid } = await stat(root)
  assertUsable(root, { uid, gid })
  return {
    root,
    owner: { uid, gid },
    lock: join(root, 'lock'),
    ownerRecord: join(root, 'owner.json'),
    libraries: join(root, 'lib'),
    data: join(root, 'data'),
    fresh: join(root, 'data.new'),
    upgraded: join(root, 'data.upgraded'),
    exchange: join(root, 'exchange'),
  }
}

/** PostgreSQL serves a cluster only as its owner, and only root can start it as another user. */
export function assertUsable(path: string, owner: Owner): void {
  const own = process.getuid?.()
  if (own === undefined || own === 0 || own === owner.uid) return
  throw new EmbeddedPostgresError(
    `${path} belongs to user id ${owner.uid} and this is user id ${own}: start Stowage as that user or as root, or choose another data folder.`,
  )
}

/** An error whose message is one sentence that tells the person what to do. The start prints it and ends with status 1. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError'
}

export function isErrno(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
}
