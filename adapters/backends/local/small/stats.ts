import { lstatSync } from 'node:fs'
import type { Entry } from '../../../contract.ts'
import { toEntry } from '../entry.ts'
import { bytesOf, decodeName, inside } from '../names.ts'
import type { Root } from '../root.ts'
import type { SmallEntries, SmallStat, SmallStats } from './jobs.ts'
import { nameEntry, openDirectory } from './open.ts'

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

function entryAt(fd: number, bytes: Buffer): Entry | null {
  const name = decodeName(bytes)
  const stats = lstatSync(inside({ fd }, bytes), { bigint: true, throwIfNoEntry: false })
  return (name !== undefined && stats && toEntry(name, stats)) || null
}
