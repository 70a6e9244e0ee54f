import { lstatSync } from 'node:fs'
import type { Entry } from '../../contract.ts'
import { toEntry } from '../entry.ts'
import { bytesOf, decodeName, inside } from '../names.ts'
import type { SmallEntries, SmallStat, SmallStats } from './jobs.ts'
import { nameEntry } from './open.ts'

/** Returns null for an entry that is missing or not served, and for a path that has to be walked. */
export function readStat({ root, path, name }: SmallStat): SmallEntries | null {
  using named = nameEntry(root, path)
  const entry = named && toEntry(name, named.stats)
  return entry ? { entries: [entry] } : null
}

export function readStats({ fd, names }: SmallStats): SmallEntries {
  return { entries: names.map(name => entryAt(fd, bytesOf(name))) }
}

function entryAt(fd: number, bytes: Buffer): Entry | null {
  const name = decodeName(bytes)
  const stats = lstatSync(inside({ fd }, bytes), { bigint: true, throwIfNoEntry: false })
  return (name !== undefined && stats && toEntry(name, stats)) || null
}
