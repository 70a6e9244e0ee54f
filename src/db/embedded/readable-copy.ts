/**
 * Copies the PostgreSQL programs for a user that cannot read the originals. This happens when root installs Stowage below /root
 * (mode 0700): PostgreSQL runs unprivileged and cannot resolve its own path.
 */
import { createHash } from 'node:crypto'
import { chmod, copyFile, mkdir, readdir, realpath, rename, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { EmbeddedPostgresError, isErrno } from './errors.ts'
import type { RunUser } from './user.ts'

/** FHS 3.0, 5.5: "data which the application must be able to regenerate". Only root uses this, and root can write to it. */
const CACHE = '/var/cache/stowage'
/** Files for compilers, which PostgreSQL does not need at run time. */
const NEEDLESS = /\.a$|^pkgconfig$|^pgxs$/

export async function readableCopy(
  native: string,
  links: { source: string; target: string }[],
  user: RunUser,
): Promise<string> {
  const { size, mtimeMs } = await stat(join(native, 'bin/postgres'))
  const key = createHash('sha256')
    .update(`${await realpath(native)} ${size} ${mtimeMs}`)
    .digest('hex')
  const copy = join(CACHE, `postgres-${key.slice(0, 16)}`)
  if (await isFolder(copy)) return copy
  const partial = `${copy}.${process.pid}`
  try {
    await mkdir(CACHE, { recursive: true })
    await copyReadable(native, partial)
    for (const { source, target } of links) {
      const link = join(partial, target)
      await rm(link, { force: true })
      await symlink(source.replace(/^.*\//, ''), link)
    }
    await rename(partial, copy)
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    if (isErrno(error, 'ENOTEMPTY', 'EEXIST')) return copy // another process was faster
    throw new EmbeddedPostgresError(
      `PostgreSQL runs as ${user.name}, who cannot read ${native}, and a copy in ${CACHE} failed (${(error as Error).message}): move Stowage out of ${closedFolder(native)}, or start it as an unprivileged user.`,
      { cause: error },
    )
  }
  return copy
}

async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(to)
  await chmod(to, 0o755)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (NEEDLESS.test(entry.name)) continue
    const source = join(from, entry.name)
    const target = join(to, entry.name)
    if (entry.isDirectory()) await copyReadable(source, target)
    else if (entry.isFile()) {
      await copyFile(source, target)
      await chmod(target, dirname(source).endsWith('/bin') ? 0o755 : 0o644)
    }
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
}

function closedFolder(path: string): string {
  return `/${path.split('/')[1] ?? ''}`
}
