/** Moves a folder between its path and the trash by copying each file, where the back end cannot move a folder. */
import { createHash } from 'node:crypto'
import { allDone, Limiter } from '../../lib/limiter.ts'
import { maxPageSize } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { nameTaken, statOrNull, taken } from '../files/conflict.ts'
import { copyAndDelete } from '../files/copying.ts'
import { CursorCheck, requireDepth } from '../files/tree.ts'

/** The number of files that are copied at the same time. */
const filesAtOnce = 16

/**
 * Adds the content of a folder to another one, which it creates if it is missing, and deletes the folder. An interrupted call
 * leaves each file at one of both paths, and another call continues with the rest.
 * @param options.overwrite whether files replace those of the other folder
 * @throws ALREADY_EXISTS for another file of that name; NOT_EMPTY if an entry was added meanwhile
 */
export function moveTree(
  from: WriteLocation,
  to: WriteLocation,
  options: { overwrite: boolean; signal: AbortSignal },
): Promise<void> {
  return moveFolder(from, to, { limiter: new Limiter(filesAtOnce), ...options }, 0)
}

interface TreeMove {
  limiter: Limiter
  overwrite: boolean
  signal: AbortSignal
}

async function moveFolder(from: WriteLocation, to: WriteLocation, move: TreeMove, depth: number): Promise<void> {
  requireDepth(depth)
  const { limiter, signal } = move
  await to.mkdir(signal, { exclusive: false })
  const cursors = new CursorCheck()
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<WriteLocation['list']>> = await from.list(signal, { cursor, limit: maxPageSize })
    cursors.check(page.cursor)
    const [folders, files] = [true, false].map(is => page.entries.filter(({ kind }) => (kind === 'directory') === is))
    await allDone(
      (files ?? []).map(entry =>
        limiter.run(() => moveFile(from.child(entry.name), entry, to.child(entry.name), move)),
      ),
    )
    // One after the other, so that the number of open listings stays small.
    for (const { name } of folders ?? []) await moveFolder(from.child(name), to.child(name), move, depth + 1)
    cursor = page.cursor
  } while (cursor !== null)
  await from.delete(signal)
}

async function moveFile(
  from: WriteLocation,
  entry: CheckedEntry,
  to: WriteLocation,
  { overwrite, signal }: TreeMove,
): Promise<void> {
  signal.throwIfAborted()
  const source = from.traits.listedTimePrecision === undefined ? entry : await from.stat(signal)
  if ((await copyAndDelete(from, source, to, { existing: null, overwrite, signal })) !== taken) return
  const [now, copy] = await Promise.all([statOrNull(from, signal), statOrNull(to, signal)])
  // An interrupted call has copied the file, and not deleted it yet.
  if (!now) return
  const isCopy =
    copy?.kind === 'file' && now.size === copy.size && (await haveSameBytes([from, now], [to, copy], signal))
  if (!isCopy) throw nameTaken(to.path)
  await from.delete(signal, now)
}

type File = readonly [location: WriteLocation, entry: CheckedEntry]

/** Compares checksums that both files have. Without one, for example on a disk, reads both. */
async function haveSameBytes(file: File, other: File, signal: AbortSignal): Promise<boolean> {
  const sums = new Map(Object.entries(other[1].checksums))
  const common = Object.entries(file[1].checksums).filter(([name]) => sums.has(name))
  if (common.length > 0) return common.every(([name, sum]) => sums.get(name) === sum)
  const [hash, otherHash] = await Promise.all([hashOf(file, signal), hashOf(other, signal)])
  return hash === otherHash
}

async function hashOf([location, seen]: File, signal: AbortSignal): Promise<string> {
  const { body } = await location.read(signal, { seen })
  const hash = createHash('sha256')
  for await (const chunk of body) hash.update(chunk)
  return hash.digest('hex')
}
