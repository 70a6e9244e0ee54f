/** Copies a file that is about to be replaced, at back ends that do not keep it in the same step. */
import type { Entry, StorageProvider, Unfinished } from '../../adapters/contract.ts'
import { nameOf, type StoragePath } from '../auth/path.ts'
import type { Grant } from '../auth/policy.ts'
import type { VersionSettings } from '../db/entry-holds.ts'
import { AppError } from '../errors.ts'
import { callAdapter, callAdapterForChange, isStorageError } from './adapter-call.ts'
import { readWithTimeout, runWithTimeout, type TransferTimeouts, writeWithTimeout } from './transfer-timeouts.ts'
import { type CheckedEntry, checkBody, checkEntry, fault, timeToKeep, toEntry } from './validate-entry.ts'
import type { WriteTracker } from './write-tracker.ts'

/** A file that a change may replace. */
export interface ReplacedFile {
  provider: StorageProvider
  grant: Grant
  path: StoragePath
  settings: VersionSettings
  writeTracker: WriteTracker
  timeouts: TransferTimeouts
}

/** Returns the file that is about to be replaced; null if there is none. */
export async function findFile(
  { provider, path, timeouts }: ReplacedFile,
  signal: AbortSignal,
): Promise<CheckedEntry | null> {
  try {
    const entry = await runWithTimeout(signal, timeouts.transfer, bounded =>
      callAdapter(bounded, async () => provider.stat(path, { signal: bounded })),
    )
    return entry.kind === 'file' ? checkEntry(entry, nameOf(path)) : null
  } catch (error) {
    if (error instanceof AppError && error.reason === 'NOT_FOUND') return null
    throw error
  }
}

/** Copies the file, through this server if the back end does not copy by itself. The result has the time and etag of the file. */
export async function copyOver(
  file: ReplacedFile,
  existing: CheckedEntry,
  to: StoragePath,
  signal: AbortSignal,
): Promise<CheckedEntry> {
  const { size, modifiedAt, etag } = existing
  const copied = await file.writeTracker.track(
    file.grant,
    to,
    async unfinished =>
      (await copyInside(file, existing, { to, unfinished }, signal)) ??
      (await copyThrough(file, existing, { to, unfinished }, signal)),
  )
  if (size !== null && copied.size !== null && copied.size !== size) throw fault('a copy of another size')
  return { ...checkEntry(copied, nameOf(to)), modifiedAt, etag, fileId: null }
}

interface CopyTarget {
  to: StoragePath
  unfinished: Unfinished
}

/** Returns null if the back end does not copy by itself. */
function copyInside(
  { provider, path, timeouts }: ReplacedFile,
  existing: CheckedEntry,
  { to, unfinished }: CopyTarget,
  parent: AbortSignal,
): Promise<Entry | null> {
  return runWithTimeout(parent, timeouts.step, signal =>
    callAdapterForChange(signal, async () => {
      const options = { overwrite: true, unfinished, signal, entry: toEntry(existing) }
      try {
        return (await provider.copy?.(path, to, options)) ?? null
      } catch (error) {
        if (!isStorageError(error) || error.code !== 'NOT_IN_ONE_STEP') throw error
        return null
      }
    }),
  )
}

async function copyThrough(
  { provider, path, timeouts }: ReplacedFile,
  existing: CheckedEntry,
  { to, unfinished }: CopyTarget,
  parent: AbortSignal,
): Promise<Entry> {
  const open = async () => checkBody((await provider.read(path, { signal: parent })).body)
  const opened = await runWithTimeout(parent, timeouts.transfer, bounded =>
    callAdapter(bounded, open, late => late.destroy()),
  )
  const body = readWithTimeout(opened, timeouts.transfer)
  const { size } = existing
  const modifiedAt = timeToKeep(existing)
  const known = { ...(size !== null && { size }), ...(modifiedAt && { modifiedAt }) }
  const write = (signal: AbortSignal) =>
    callAdapterForChange(signal, async () =>
      provider.write(to, body, { ...known, overwrite: true, unfinished, signal }),
    )
  try {
    return await writeWithTimeout(parent, body, timeouts, write, { size: size ?? undefined })
  } finally {
    body.destroy()
  }
}
