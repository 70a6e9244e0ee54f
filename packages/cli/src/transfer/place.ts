/** Finds out where the copies of sources go, like `cp`. */
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { itemOf } from '../local/local-tree.ts'
import type { LocalOperand } from '../operand.ts'
import { nameOf, type RemoteEntry, type RemotePath, type Server } from '../remote/server.ts'
import type { Item } from './tree.ts'

export interface Place {
  /** Whether the sources go into the target and keep their names. */
  isInto: boolean
  /** The entry at the path of the target; null if the path is free. */
  existing: Item | null
}

/** @param sources the number of sources; several need a folder */
export async function findRemotePlace(server: Server, target: RemotePath, sources: number): Promise<Place> {
  const entry = target.path === '/' ? null : await server.find(target)
  const existing = entry ? itemOfEntry(entry) : null
  const isFolder = target.path === '/' || target.isFolder || existing?.kind === 'folder'
  return { existing, isInto: isFolder || sources > 1 }
}

export async function findLocalPlace(target: LocalOperand, sources: number): Promise<Place> {
  const existing = await findLocal(target.path)
  return { existing, isInto: target.isFolder || existing?.kind === 'folder' || sources > 1 }
}

/** Returns null if nothing exists at the path. */
export async function findLocal(path: string): Promise<Item | null> {
  try {
    return itemOf(basename(path), await stat(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

export function itemOfEntry({ name, kind, size, modifiedAt }: RemoteEntry): Item {
  return { name, kind, size, modifiedAt: modifiedAt === null ? null : new Date(modifiedAt) }
}

/** Returns the name that a source gets in a folder; '' for `.` and `/`, whose content goes directly into the folder. */
export function sourceName(path: string): string {
  const name = nameOf(path)
  return name === '.' || name === '..' ? '' : name
}
