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
import type { Entry } from '../../../contract.ts'
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
 * is missing or on another disk, and where the name is taken.
 * @throws any error before the file is visible
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
  using staged = new StagedFile(staging, file)
  staged.write(bytes, uniqueTime(modifiedAt, file.microseconds))
  const syncTime = sync(staged, modifiedAt !== undefined)
  if (!isStillAt(parent, path)) return null
  staged.publish(parent, file.overwrite)
  try {
    return { entry: staged.entry(), syncTime: syncTime + syncDirectory(parent) }
  } catch (error) {
    return failureOf(error)
  }
}

/** A file in the staging folder, until it has its own name or is disposed of. */
class StagedFile implements Descriptor {
  readonly name: string
  readonly fd: number
  readonly #opened: Descriptor
  readonly #path: string | Buffer
  #isStaged = true

  constructor(staging: Descriptor, { name, stagedName }: Pick<SmallTarget, 'name' | 'stagedName'>) {
    this.name = name
    this.#path = inside(staging, stagedName)
    this.#opened = openDescriptor(this.#path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666)
    this.fd = this.#opened.fd
  }

  /** @param modifiedAt seconds */
  write(bytes: Uint8Array, modifiedAt: number): void {
    for (let position = 0; position < bytes.length; ) {
      position += writeSync(this.fd, bytes, position, bytes.length - position, position)
    }
    futimesSync(this.fd, uniqueTime(), modifiedAt)
  }

  /** Gives the file its name in a folder. */
  publish(parent: Descriptor, overwrite: boolean): void {
    const target = inside(parent, this.name)
    if (overwrite) {
      renameSync(this.#path, target)
      this.#isStaged = false
    } else {
      linkSync(this.#path, target)
      this.#remove()
    }
  }

  /** Returns the entry of the file with its name. @throws NOT_FOUND */
  entry(): Entry {
    const entry = toEntry(this.name, fstatSync(this.fd, { bigint: true }))
    if (!entry) throw notFound()
    return entry
  }

  [Symbol.dispose](): void {
    if (this.#isStaged) this.#remove()
    this.#opened[Symbol.dispose]()
  }

  /** If this fails, the sweep removes the name later. */
  #remove(): void {
    this.#isStaged = false
    try {
      unlinkSync(this.#path)
    } catch {
      // See above.
    }
  }
}

/** Returns whether only the general way can store the file, or refuse to. */
function isTaken(path: string | Buffer, overwrite: boolean): boolean {
  const existing = lstatSync(path, { throwIfNoEntry: false })
  return existing !== undefined && (!overwrite || existing.isDirectory())
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

function failureOf(error: unknown): SmallFailure {
  const { code = '', syscall = '', message } = error as NodeJS.ErrnoException
  return { code, syscall, message }
}

/** The bytes of the file that is being copied. */
const copied = new Uint8Array(smallBytes)

/**
 * Copies files until the time `end`, as of `performance.now()`, but at least one. All are written before the first is synced, so that the
 * file system can store them together, and all are synced before the first gets its name. The folders are opened, and the names
 * synced, once for all files. Returns null where the general way has to be taken for all of them.
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
  using stack = new DisposableStack()
  const written: (StagedFile | null)[] = []
  for (const [index, name] of names.entries()) {
    const file = writeCopy(source, staging, { name, stagedName: `${stagedName}-${index}`, microseconds })
    written.push(file && stack.use(file))
    if (performance.now() > end) break
  }
  const synced = syncUntil(written, end)
  if (synced.files.length === 0) return { copies: written.map(() => null), syncTime: 0 }
  if (!isStillAt(parent, to)) return null
  return publishAll(parent, synced)
}

/** Returns null for a file that only the general way can copy, or report what it lacks. */
function writeCopy(
  source: Descriptor,
  staging: Descriptor,
  to: Pick<SmallTarget, 'name' | 'stagedName' | 'microseconds'>,
): StagedFile | null {
  let staged: StagedFile | undefined
  try {
    using file = openDescriptor(inside(source, to.name), fileFlags)
    const stats = fstatSync(file.fd, { bigint: true })
    const bytes = stats.isFile() && stats.size <= smallBytes && readWhole(file, stats, copied)
    if (!bytes) return null
    staged = new StagedFile(staging, to)
    staged.write(bytes, uniqueTime(new Date(Number(stats.mtimeMs)), to.microseconds))
    return staged
  } catch {
    staged?.[Symbol.dispose]()
    return null
  }
}

interface SyncedFiles {
  /** The first files, up to the last one that is synced; null for those that were not copied. */
  files: readonly (StagedFile | null)[]
  /** Milliseconds. */
  time: number
}

/** Syncs files until the time `end`, but at least one. */
function syncUntil(files: readonly (StagedFile | null)[], end: number): SyncedFiles {
  const from = performance.now()
  let isAny = false
  for (const [index, file] of files.entries()) {
    if (!file) continue
    if (isAny && performance.now() > end) return { files: files.slice(0, index), time: performance.now() - from }
    fsyncSync(file.fd)
    isAny = true
  }
  return { files: isAny ? files : [], time: performance.now() - from }
}

function publishAll(parent: Descriptor, { files, time }: SyncedFiles): SmallCopied | SmallFailure {
  try {
    const copies = files.map(file => (file && publishIfFree(parent, file) ? file.entry() : null))
    const count = copies.filter(copy => copy !== null).length
    if (count === 0) return { copies, syncTime: 0 }
    return { copies, syncTime: (time + syncDirectory(parent)) / count }
  } catch (error) {
    return failureOf(error)
  }
}

/** Returns false for a name that is taken, or cannot be given to a file. */
function publishIfFree(parent: Descriptor, file: StagedFile): boolean {
  try {
    file.publish(parent, false)
    return true
  } catch {
    return false
  }
}
