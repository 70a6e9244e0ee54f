/** Finds out where the copies of sources go, like `cp`. */
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { nameTaken } from '../errors.ts'
import type { LocalOperand } from '../operand.ts'
import { nameOf, type RemoteEntry, type RemotePath, type Server } from '../server.ts'
import { itemOf } from '../trees/local-tree.ts'
import { candidateNames } from '../trees/save-file.ts'
import type { Item } from '../trees/tree.ts'
import type { ConflictPolicy } from './conflict.ts'

export interface Destination {
  /** Whether the sources go into the target and keep their names. */
  isInto: boolean
  /** The entry at the path of the target; null if the path is free. */
  existing: Item | null
}

/** @param sources the number of sources; several need a folder */
export async function findRemoteDestination(server: Server, target: RemotePath, sources: number): Promise<Destination> {
  const entry = target.path === '/' ? null : await server.find(target)
  const existing = entry ? itemOfEntry(entry) : null
  const isFolder = target.path === '/' || target.isFolder || existing?.kind === 'folder'
  return { existing, isInto: isFolder || sources > 1 }
}

export async function findLocalDestination(target: LocalOperand, sources: number): Promise<Destination> {
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

interface TopFolder {
  name: string
  /** Whether the folder existed, so that its content is added to it. */
  isAtTarget: boolean
}

/**
 * Prepares the folder that a copied folder becomes, as a job does: `fail` and `rename` need a name that is free, and the
 * others add to a folder that exists.
 * @param make creates a folder of a name, and returns false if it is taken
 * @param existing what has the name already
 * @throws CommandError if the name is taken
 */
export async function makeTop(
  { name, policy, existing }: { name: string; policy: ConflictPolicy } & Pick<Destination, 'existing'>,
  make: (name: string) => Promise<boolean>,
): Promise<TopFolder> {
  if (policy === 'fail' || policy === 'rename') {
    for (const candidate of policy === 'rename' ? candidateNames(name, 'folder') : [name]) {
      if (await make(candidate)) return { name: candidate, isAtTarget: false }
    }
    throw nameTaken(name)
  }
  if (existing && existing.kind !== 'folder') throw nameTaken(name)
  return { name, isAtTarget: existing !== null }
}
