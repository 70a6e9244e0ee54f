import { type FileHandle, readdir } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isReserved, self } from './names.ts'
import { type PackedNames, packNames } from './packed-names.ts'

/** Bytes of all lists that are kept. A directory with more is read again for each page. */
const defaultMaxBytes = 64 * 1024 * 1024

/** Milliseconds without a reader after which a list is dropped. */
const idleTime = 60_000

/** Nanoseconds: longer than the steps of the kernel's clock, and of the file systems that keep whole seconds (vfat, ext3). */
const clockStep = 50_000_000n
const coarseClockStep = 2_000_000_000n

/** A directory at one moment. */
export interface Directory {
  key: string
  /** The last change of its entries, in nanoseconds of the file system's clock. */
  changedAt: bigint
}

export interface NameList {
  names: PackedNames
  /** Every change with a ctime up to this one is in it. */
  completeTo: bigint
}

interface Kept extends NameList {
  expiry: NodeJS.Timeout
}

interface Reading {
  current: Promise<NameList>
  next?: Promise<NameList>
}

/**
 * The names of directories, shared by all walks of this process, so that a walk reads its directory once and not once a
 * page. A list that is kept serves only walks that began when it was already complete, on whichever replica.
 */
export class NameLists {
  readonly #maxBytes: number
  readonly #kept = new Map<string, Kept>()
  readonly #reading = new Map<string, Reading>()
  #bytes = 0

  constructor(maxBytes: number = defaultMaxBytes) {
    this.#maxBytes = maxBytes
  }

  /**
   * Reads the directory now. Callers that wait for the same directory share one read, which begins after their calls: a
   * read that is under way may have passed what they already know of.
   * @param handle stays open until this settles
   */
  async read(handle: FileHandle, directory: Directory): Promise<NameList> {
    const reading = this.#reading.get(directory.key)
    if (!reading) return await this.#begin(handle, directory)
    reading.next ??= reading.current.then(
      () => this.#begin(handle, directory),
      () => this.#begin(handle, directory),
    )
    return await reading.next
  }

  /** A list that is kept and holds all there was at `since`; else undefined. */
  recent({ key }: Directory, since: bigint): NameList | undefined {
    const kept = this.#kept.get(key)
    if (!kept || kept.completeTo < since) return undefined
    // The last in the map is the last to go.
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    kept.expiry.refresh()
    return kept
  }

  /** For the pages that follow. */
  keep({ key }: Directory, list: NameList): void {
    if (this.#kept.get(key)?.names === list.names) return
    this.#drop(key)
    if (list.names.length > this.#maxBytes) return
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes + list.names.length <= this.#maxBytes) break
      this.#drop(oldest)
    }
    this.#bytes += list.names.length
    this.#kept.set(key, { ...list, expiry: setTimeout(() => this.#drop(key), idleTime).unref() })
  }

  #drop(key: string): void {
    const kept = this.#kept.get(key)
    if (!kept) return
    clearTimeout(kept.expiry)
    this.#kept.delete(key)
    this.#bytes -= kept.names.length
  }

  #begin(handle: FileHandle, directory: Directory): Promise<NameList> {
    const reading: Reading = { current: readNames(handle, directory) }
    this.#reading.set(directory.key, reading)
    const end = () => {
      if (!reading.next) this.#reading.delete(directory.key)
    }
    reading.current.then(end, end)
    return reading.current
  }
}

export async function directoryOf(handle: FileHandle): Promise<Directory> {
  const { dev, ino, ctimeNs } = await handle.stat({ bigint: true })
  return { key: `${dev}:${ino}`, changedAt: ctimeNs }
}

/**
 * `readdir` without types, as measured: it costs what an `opendir` stream costs, and where the disk keeps no types (NFS)
 * Node would ask for each one with a synchronous lstat.
 */
async function readNames(handle: FileHandle, { changedAt }: Directory): Promise<NameList> {
  // Another change within the same step of the clock gets the same ctime and may be missing.
  const step = changedAt % 1_000_000_000n === 0n ? coarseClockStep : clockStep
  const isSettled = BigInt(Date.now()) * 1_000_000n - changedAt > step
  const all = await readdir(self(handle), { encoding: 'latin1' })
  // For a large directory each half takes some ten milliseconds: others are served in between.
  await nextTurn()
  const names = packNames(all.filter(name => !isReserved(name)))
  return { names, completeTo: isSettled ? changedAt : changedAt - 1n }
}
