import { mkdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { EmbeddedPostgresError, isErrno } from './errors.ts'

/** A user and a group of the system, by number. */
export interface Owner {
  uid: number
  gid: number
}

/**
 * Where things lie inside the data folder:
 *
 *     postgres/            ours: while another user runs PostgreSQL, that user may pass through and write nothing here
 *       lock               held by the owner as long as it lives (lock.ts)
 *       owner.json         how guests tell one owner from the next (shared-server.ts)
 *       lib/<major>/       links for libraries that the npm package ships without them (binaries.ts)
 *       data/              the cluster, mode 0700, the socket in it
 *       data.new/          a cluster in the making; left over only after a kill, and thrown away
 *       data.upgraded/     complete, about to take the place of data/ (upgrade.ts)
 *       data.pg<major>/    what data/ was before an upgrade
 */
export interface Layout {
  root: string
  /** Whose `root` is: what we make in it is given to them, so that root can start it once and they again. */
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

/** For a data folder that is there. */
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

/** PostgreSQL serves a cluster only as its owner, whom only root can become. */
export function assertUsable(path: string, owner: Owner): void {
  const own = process.getuid?.()
  if (own === undefined || own === 0 || own === owner.uid) return
  throw new EmbeddedPostgresError(
    `${path} belongs to user id ${owner.uid} and this is user id ${own}: start Stowage as that user or as root, or choose another data folder.`,
  )
}
