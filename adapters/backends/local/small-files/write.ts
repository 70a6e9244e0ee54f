import {
  constants,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  futimesSync,
  linkSync,
  lstatSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { notFound } from '../../../bases/errors.ts'
import { hasErrno } from '../errors.ts'
import { inside, stagingName, toEntry } from '../names.ts'
import { directoryFlags } from '../open.ts'
import { fileFlags } from '../read.ts'
import { uniqueTime } from '../staging.ts'
import {
  type SmallCopied,
  type SmallCopies,
  type SmallFailure,
  type SmallStored,
  type SmallTarget,
  smallBytes,
} from './jobs.ts'
import { type Descriptor, isStillAt, openDescriptor, openDirectory, readWhole } from './read.ts'

const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants

/**
 * Stores a file as `store` does, with the same steps in the same order. Returns null, having changed nothing, where the folder
 * is missing or on another disk, where the name is taken, and for any error before the file is visible.
 */
export function writeSmall(
  { root, parent: path, ...file }: SmallTarget,
  bytes: Uint8Array,
  modifiedAt: Date | undefined,
): SmallStored | SmallFailure | null {
  using top = openDirectory(root, root.path)
  using other = path === root.path ? undefined : openDirectory(root, path)
  const parent = path === root.path ? top : other
  if (!top || !parent || isTaken(inside(parent, file.name), file.overwrite)) return null
  // The first write into a root creates the staging folder in the general way.
  using staging = openDescriptor(inside(top, stagingName), directoryFlags)
  const stored = storeIn({ parent, path, staging }, { ...file, modifiedAt }, bytes)
  if (!stored || 'code' in stored) return stored
  try {
    return { ...stored, syncTime: stored.syncTime + syncDirectory(parent) }
  } catch (error) {
    return failureOf(error)
  }
}

/** An open folder that files are stored in. */
interface StoreFolder {
  parent: Descriptor
  /** The system path of `parent`. */
  path: string
  staging: Descriptor
}

/**
 * Stores a file in a folder, whose names are not synced yet. Returns null, having changed nothing, for any error before the file
 * is visible.
 */
function storeIn(
  { parent, path, staging }: StoreFolder,
  file: Pick<SmallTarget, 'name' | 'overwrite' | 'stagedName' | 'microseconds'> & { modifiedAt: Date | undefined },
  bytes: Uint8Array,
): SmallStored | SmallFailure | null {
  const staged = inside(staging, file.stagedName)
  let isStaged = false
  let isVisible = false
  try {
    using opened = openDescriptor(staged, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666)
    isStaged = true
    writeAll(opened, bytes)
    futimesSync(opened.fd, uniqueTime(), uniqueTime(file.modifiedAt, file.microseconds))
    const syncTime = sync(opened, file.modifiedAt !== undefined)
    if (!isStillAt(parent, path)) return null
    const target = inside(parent, file.name)
    if (file.overwrite) renameSync(staged, target)
    else linkSync(staged, target)
    isVisible = true
    if (!file.overwrite) remove(staged)
    const entry = toEntry(file.name, fstatSync(opened.fd, { bigint: true }))
    if (!entry) throw notFound()
    return { entry, syncTime }
  } catch (error) {
    return isVisible ? failureOf(error) : null
  } finally {
    if (isStaged && !isVisible) remove(staged)
  }
}

/** Returns whether only the general way can store the file, or refuse to. */
function isTaken(path: string | Buffer, overwrite: boolean): boolean {
  const existing = lstatSync(path, { throwIfNoEntry: false })
  return existing !== undefined && (!overwrite || existing.isDirectory())
}

function writeAll({ fd }: Descriptor, bytes: Uint8Array): void {
  for (let position = 0; position < bytes.length; ) {
    position += writeSync(fd, bytes, position, bytes.length - position, position)
  }
}

/** Returns the milliseconds that it took. @param hasTime true if the file has a time that is not the current one */
function sync({ fd }: Descriptor, hasTime: boolean): number {
  const from = performance.now()
  if (hasTime) fsyncSync(fd)
  else fdatasyncSync(fd)
  return performance.now() - from
}

/** As `syncDirectory` of the general way. Returns the milliseconds that it took. */
function syncDirectory({ fd }: Descriptor): number {
  const from = performance.now()
  try {
    fsyncSync(fd)
  } catch (error) {
    if (!hasErrno(error, 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP')) throw error
  }
  return performance.now() - from
}

/** Removes a file from the staging folder. If that fails, the sweep removes the file later. */
function remove(staged: string | Buffer): void {
  try {
    unlinkSync(staged)
  } catch {
    // See above.
  }
}

function failureOf(error: unknown): SmallFailure {
  const { code = '', syscall = '', message } = error as NodeJS.ErrnoException
  return { code, syscall, message }
}

/**
 * Copies files until the time `end`, as of `performance.now()`, but at least one. The folders are opened and the names synced once
 * for all files. Returns null where the general way has to be taken for all of them.
 */
export function copySmall(
  { root, from, to, names, stagedName, microseconds }: SmallCopies,
  end: number,
): SmallCopied | SmallFailure | null {
  using top = openDirectory(root, root.path)
  using source = openDirectory(root, from)
  using parent = openDirectory(root, to)
  if (!top || !source || !parent) return null
  using staging = openDescriptor(inside(top, stagingName), directoryFlags)
  const folder = { parent, path: to, staging }
  const copies: (SmallStored | null)[] = []
  for (const [index, name] of names.entries()) {
    const copied = copyFile(source, folder, { name, stagedName: `${stagedName}-${index}`, microseconds })
    if (copied && 'code' in copied) return copied
    copies.push(copied)
    if (performance.now() > end) break
  }
  const made = copies.filter(copy => copy !== null)
  const entries = copies.map(copy => copy?.entry ?? null)
  if (made.length === 0) return { copies: entries, syncTime: 0 }
  try {
    const time = made.reduce((sum, { syncTime }) => sum + syncTime, syncDirectory(parent))
    return { copies: entries, syncTime: time / made.length }
  } catch (error) {
    return failureOf(error)
  }
}

function copyFile(
  source: Descriptor,
  folder: StoreFolder,
  to: { name: string; stagedName: string; microseconds: number },
): SmallStored | SmallFailure | null {
  try {
    using file = openDescriptor(inside(source, to.name), fileFlags)
    const stats = fstatSync(file.fd, { bigint: true })
    const entry = toEntry(to.name, stats)
    if (entry?.kind !== 'file' || stats.size > smallBytes) return null
    const bytes = readWhole(file, stats)
    return bytes && storeIn(folder, { ...to, overwrite: false, modifiedAt: entry.modifiedAt ?? undefined }, bytes)
  } catch {
    // The file is missing, for example. The general way reports it.
    return null
  }
}
