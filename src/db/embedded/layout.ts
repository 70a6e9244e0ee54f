/** The files of the embedded PostgreSQL in the data folder, and the user that runs it. */
import { chmod, lchown, mkdir, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** A user and a group of the system, by number. */
export interface Owner {
  uid: number
  gid: number
}

/**
 * The paths inside the data folder:
 *
 *     postgres/            if another user runs PostgreSQL, that user can enter this folder, but write nothing in it
 *       lock               locked by the owner while it runs (index.ts)
 *       owner.json         identifies the current owner (index.ts)
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

// Selects the user that runs PostgreSQL. PostgreSQL refuses to run as root, so root starts it as an unprivileged user from
// /etc/passwd, where initdb looks up the name.

export interface RunUser extends Owner {
  name: string
}

/**
 * Returns undefined if PostgreSQL runs as the user of this process. Only for root it runs as another user. A cluster
 * keeps its unprivileged owner.
 */
export async function chooseRunUser(cluster: string): Promise<RunUser | undefined> {
  const owner = await ownerOf(cluster)
  if (owner !== undefined) assertUsable(cluster, owner)
  if (process.getuid?.() !== 0) return undefined
  if (owner !== undefined && owner.uid !== 0) return { ...owner, name: `user id ${owner.uid}` }
  const users = await passwd()
  const chosen = users.get('postgres') ?? users.get('nobody')
  if (chosen !== undefined && chosen.uid !== 0) return chosen
  throw new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and neither "postgres" nor "nobody" is in /etc/passwd: start Stowage as an unprivileged user, or set DATABASE_URL.',
  )
}

/** Returns undefined if the path is missing. */
async function ownerOf(path: string): Promise<Owner | undefined> {
  try {
    const { uid, gid } = await stat(path)
    return { uid, gid }
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

async function passwd(): Promise<Map<string, RunUser>> {
  const users = new Map<string, RunUser>()
  for (const line of (await readFile('/etc/passwd', 'utf8')).split('\n')) {
    const [name, , uid, gid] = line.split(':')
    if (name && uid && gid) users.set(name, { name, uid: Number(uid), gid: Number(gid) })
  }
  return users
}

/** Permits the user that runs PostgreSQL to enter the folder, but not to list it or to write in it. */
export async function permitEntry(folder: string, user: RunUser | undefined): Promise<void> {
  await chmod(folder, user === undefined ? 0o700 : 0o711)
}

/** Gives a cluster the owner and the mode that PostgreSQL requires, for example after root copied one in. */
export async function claimCluster(cluster: string, user: RunUser | undefined): Promise<void> {
  if (user !== undefined && (await ownerOf(cluster))?.uid !== user.uid) {
    const entries = await readdir(cluster, { recursive: true })
    for (const entry of entries) await lchown(join(cluster, entry), user.uid, user.gid)
    await lchown(cluster, user.uid, user.gid) // last, so that the next start repeats an interrupted walk
  }
  await chmod(cluster, 0o700)
}

/**
 * Returns whether `user` can enter the folders of `path` and read it. Looks only at mode bits. An access control list that
 * grants more is ignored, which only causes an unnecessary copy.
 */
export async function canRead(path: string, user: RunUser): Promise<boolean> {
  if (!(await allows(path, user, 4))) return false
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (!(await allows(folder, user, 1))) return false
    if (folder === dirname(folder)) return true
  }
}

async function allows(path: string, user: RunUser, bit: 1 | 4): Promise<boolean> {
  const { mode, uid, gid } = await stat(path)
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0
  return ((mode >> shift) & bit) !== 0
}
