import { fstatSync } from 'node:fs'
import { toEntry } from '../entry.ts'
import { inside, stagingName } from '../names.ts'
import { directoryFlags } from '../open-directly.ts'
import { fileFlags } from '../read.ts'
import { type SmallCopied, type SmallCopies, type SmallFailure, type SmallStored, smallBytes } from './jobs.ts'
import { type Descriptor, openDescriptor, openDirectory } from './open.ts'
import { readWhole } from './read.ts'
import { failureOf, type StoreFolder, storeIn, syncDirectory } from './write.ts'

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
