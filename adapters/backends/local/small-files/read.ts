/** Synchronous calls on descriptors, for threads that may wait for the disk. */
import { isUtf8 } from 'node:buffer'
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  statSync,
} from 'node:fs'
import type { Entry } from '../../../contract.ts'
import { bytesOf, decodeName, inside, isReserved, self, toEntry } from '../names.ts'
import { directoryFlags, isSame, nameFlags, type Root } from '../open.ts'
import type { SmallEntries, SmallFile, SmallList, SmallRead, SmallStat, SmallStats } from './jobs.ts'

/** An open file or directory, until it is disposed of. */
export interface Descriptor extends Disposable {
  readonly fd: number
}

/** @throws as open(2) */
export function openDescriptor(path: string | Buffer, flags: number, mode?: number): Descriptor {
  const fd = openSync(path, flags, mode)
  return { fd, [Symbol.dispose]: () => close(fd) }
}

function close(fd: number): void {
  try {
    closeSync(fd)
  } catch {
    // The content is on the disk already, and the descriptor is free even after an error.
  }
}

/** Opens for reading what a descriptor names. */
function reopen(named: Descriptor): Descriptor {
  return openDescriptor(self(named), constants.O_RDONLY)
}

interface Named extends Descriptor {
  readonly stats: BigIntStats
}

/** As `nameDirectly`, with the system path of the entry. */
function nameEntry(root: Root, path: string): Named | undefined {
  return openEntry(root, path, nameFlags)
}

/** As `openDirectoryDirectly`, with the system path of the directory. */
export function openDirectory(root: Root, path: string): Named | undefined {
  return openEntry(root, path, directoryFlags)
}

/** Returns whether this is the path of an open file or directory now. */
export function isStillAt(opened: Descriptor, path: string): boolean {
  return readlinkSync(self(opened), 'buffer').equals(Buffer.from(path))
}

/** As `openDirectly`, which explains how this is safe. */
function openEntry(root: Root, path: string, flags: number): Named | undefined {
  let opened: Descriptor
  try {
    opened = openDescriptor(path, flags)
  } catch {
    return undefined
  }
  try {
    if (isStillAt(opened, path)) {
      const stats = fstatSync(opened.fd, { bigint: true })
      const top = statSync(root.path, { bigint: true })
      if (isSame(top, root) && stats.dev === root.dev) return { ...opened, stats }
    }
  } catch {
    // The root is missing, for example. The general way reports it.
  }
  opened[Symbol.dispose]()
  return undefined
}

/** Returns null for a file that is missing, too large or being changed, and for a path that has to be walked. */
export function readSmall({ root, path, name, maxBytes }: SmallRead): SmallFile | null {
  using named = nameEntry(root, path)
  const entry = named && toEntry(name, named.stats)
  if (entry?.kind !== 'file' || named === undefined || named.stats.size > maxBytes) return null
  using file = reopen(named)
  const bytes = readWhole(file, named.stats)
  return bytes && { entry, bytes }
}

/**
 * Returns the bytes of one version of a file, or null if the file is being changed.
 * @param stats of the file
 * @param buffer gets the bytes, if it is given
 */
export function readWhole(
  file: Descriptor,
  stats: BigIntStats,
  buffer?: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> | null {
  const size = Number(stats.size)
  const bytes = readAll(file, buffer ? buffer.subarray(0, size) : new Uint8Array(size))
  return bytes && isUnchanged(file, stats) ? bytes : null
}

/** Returns null if the file has become shorter. */
function readAll({ fd }: Descriptor, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | null {
  for (let position = 0; position < bytes.length; ) {
    const count = readSync(fd, bytes, position, bytes.length - position, position)
    if (count === 0) return null
    position += count
  }
  return bytes
}

/** Returns whether the bytes are those of one version: see `FileBody`. */
function isUnchanged({ fd }: Descriptor, before: BigIntStats): boolean {
  const { size, mtimeNs } = fstatSync(fd, { bigint: true })
  return size === before.size && mtimeNs === before.mtimeNs
}

/** Returns null for an entry that is not served, and for a path that has to be walked. */
export function readStat({ root, path, name }: SmallStat): SmallEntries | null {
  using named = nameEntry(root, path)
  if (!named) return isMissing(root, path, name) ? { entries: [null] } : null
  const entry = toEntry(name, named.stats)
  return entry ? { entries: [entry] } : null
}

/** Returns whether a folder lacks a name. False also where the folder is missing or has to be walked to. */
function isMissing(root: Root, path: string, name: string): boolean {
  using parent = openDirectory(root, path.slice(0, -name.length - 1))
  return parent !== undefined && !lstatSync(inside(parent, name), { throwIfNoEntry: false })
}

export function readStats({ fd, names }: SmallStats): SmallEntries {
  return { entries: names.map(name => entryAt(fd, bytesOf(name))) }
}

/** Bytes. A larger directory may have so many names that reading them would delay other jobs. */
const maxDirectory = 32 * 1024

/** Returns null for a directory with more entries or with other names, and for a path that has to be walked. */
export function readList({ root, path, limit }: SmallList): SmallEntries | null {
  using directory = openDirectory(root, path)
  if (!directory || directory.stats.size > maxDirectory) return null
  const all = readdirSync(self(directory), { encoding: 'latin1' }).filter(name => !isReserved(name))
  if (all.length > limit) return null
  const names = all.sort().map(bytesOf)
  return names.every(isUtf8) ? { entries: names.map(name => entryAt(directory.fd, name)) } : null
}

function entryAt(fd: number, bytes: Buffer): Entry | null {
  const name = decodeName(bytes)
  const stats = lstatSync(inside({ fd }, bytes), { bigint: true, throwIfNoEntry: false })
  return (name !== undefined && stats && toEntry(name, stats)) || null
}
