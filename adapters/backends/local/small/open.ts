/** Synchronous calls on descriptors, for threads that may wait for the disk. */
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readlinkSync, statSync } from 'node:fs'
import { self } from '../names.ts'
import { directoryFlags, nameFlags } from '../open-directly.ts'
import { isSame, type Root } from '../root.ts'

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
export function reopen(named: Descriptor): Descriptor {
  return openDescriptor(self(named), constants.O_RDONLY)
}

interface Named extends Descriptor {
  readonly stats: BigIntStats
}

/** As `nameDirectly`, with the system path of the entry. */
export function nameEntry(root: Root, path: string): Named | undefined {
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
