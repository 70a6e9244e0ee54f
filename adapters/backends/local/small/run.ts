import { lstatSync } from 'node:fs'
import type { Entry } from '../../../contract.ts'
import { toEntry } from '../entry.ts'
import { bytesOf, decodeName, inside } from '../names.ts'
import type { Root } from '../root.ts'
import { copySmall } from './copies.ts'
import {
  isChange,
  type SmallEntries,
  type SmallJob,
  type SmallResult,
  type SmallStat,
  type SmallStats,
} from './jobs.ts'
import { nameEntry, openDirectory } from './open.ts'
import { readSmall } from './read.ts'
import { writeSmall } from './write.ts'

/** Milliseconds. A disk that syncs more slowly syncs several files at once better in the thread pool of libuv. */
export const slowSync = 0.5

/** Milliseconds after which no further file of `SmallCopies` begins. */
const copyTime = 5

/** Does the jobs one after the other. Returns null for writes after a slow one, so that no job waits long for others. */
export function runJobs(jobs: readonly SmallJob[], slow = slowSync): SmallResult[] {
  const end = performance.now() + copyTime
  let isSlow = false
  return jobs.map(job => {
    if (isSlow && isChange(job)) return null
    const result = attempt(job, end)
    isSlow ||= result !== null && 'syncTime' in result && result.syncTime > slow
    return result
  })
}

function attempt(job: SmallJob, end: number): SmallResult {
  try {
    return run(job, end)
  } catch {
    // The error came before the file was visible. The general way finds it again and reports it.
    return null
  }
}

function run(job: SmallJob, end: number): SmallResult {
  if (job.kind === 'read') return readSmall(job)
  if (job.kind === 'stat') return readStat(job)
  if (job.kind === 'stats') return readStats(job)
  if (job.kind === 'write') return writeSmall(job, job.bytes, job.modifiedAt)
  if (job.kind === 'copies') return copySmall(job, end)
  const file = readSmall(job.from)
  return file && writeSmall(job, file.bytes, file.entry.modifiedAt ?? undefined)
}

/** Returns null for an entry that is not served, and for a path that has to be walked. */
function readStat({ root, path, name }: SmallStat): SmallEntries | null {
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

function readStats({ fd, names }: SmallStats): SmallEntries {
  return { entries: names.map(name => entryAt(fd, bytesOf(name))) }
}

function entryAt(fd: number, bytes: Buffer): Entry | null {
  const name = decodeName(bytes)
  const stats = lstatSync(inside({ fd }, bytes), { bigint: true, throwIfNoEntry: false })
  return (name !== undefined && stats && toEntry(name, stats)) || null
}
