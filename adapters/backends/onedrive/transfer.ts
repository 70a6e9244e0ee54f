import { RequestFailure } from '../../bases/cloud/client.ts'
import { causeForLog, isTransient, property, refusalOver } from '../../bases/cloud/errors.ts'
import type { Transfer } from '../../bases/cloud/provider.ts'
import { alreadyExists, notAFile, notFound } from '../../bases/errors.ts'
import { pause } from '../../bases/retry.ts'
import { type Entry, nameOf, parentOf, StorageError, type StoragePath } from '../../contract.ts'
import { type DriveItem, isFolder, toEntry } from './entry.ts'
import { isRefused, isTaken, onedrive } from './errors.ts'
import { type DriveItems, type MadeFolder, makeFolders } from './items.ts'
import { timesOf } from './upload.ts'

const kindOf = (item: DriveItem): Entry['kind'] => (isFolder(item) ? 'directory' : 'file')

/** Moves a file, or a folder with everything below it. OneDrive never moves over an existing entry. */
export async function moveEntry(items: DriveItems, transfer: Transfer): Promise<Entry> {
  const { from, to, signal } = transfer
  items.addressOf(to)
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const source = await items.find(from, signal)
    if (!source) throw notFound()
    const moved = await atDestination(items, transfer, source, parent => relocate(items, source, parent, transfer))
    if (moved) return toEntry(nameOf(to), moved)
  }
  throw new StorageError('UNAVAILABLE', 'The entry was changed at the same moment: try again.')
}

/** Returns undefined if the source has changed since: of several moves at once, only the first one may succeed. */
async function relocate(
  items: DriveItems,
  source: DriveItem,
  { folder }: MadeFolder,
  { to, signal }: Transfer,
): Promise<DriveItem | undefined> {
  const json = { name: nameOf(to), parentReference: { id: folder.id } }
  const url = `${items.idAddress(source.id)}?@microsoft.graph.conflictBehavior=fail`
  const headers = source.eTag === undefined ? {} : { 'if-match': source.eTag }
  try {
    return await items.change({ method: 'PATCH', url, json, headers, signal })
  } catch (error) {
    if (isRefused(error, 404, 412)) return undefined
    if (!(error instanceof RequestFailure && isTransient(error.failure))) throw error
    const found = await items.look(to, signal)
    if (found?.id === source.id) return found
    throw error
  }
}

/** Copies a file. OneDrive makes the copy in the background. @param interval milliseconds between looks at it */
export async function copyFile(items: DriveItems, transfer: Transfer, interval: number): Promise<Entry> {
  const { from, to, signal } = transfer
  items.addressOf(to)
  const source = await items.find(from, signal)
  if (!source) throw notFound()
  if (isFolder(source)) throw notAFile()
  const copied = await atDestination(items, transfer, source, async ({ folder }) => {
    const parentReference = { driveId: folder.parentReference?.driveId, id: folder.id }
    const { headers } = await items.http.request({
      method: 'POST',
      url: `${items.idAddress(source.id, 'copy')}?@microsoft.graph.conflictBehavior=fail`,
      json: { name: nameOf(to), parentReference },
      headers: { prefer: 'respond-async' },
      isCommit: true,
      signal,
    })
    const monitor = headers.get('location')
    if (monitor === null) throw unfinished()
    await waitForCopy(items, monitor, interval, signal).catch(async error => {
      if (signal.aborted) await removeLate(items, to, monitor, interval)
      throw error
    })
    const made = await items.look(to, signal)
    if (!made) throw unfinished()
    // A copy has the time at which it was made.
    const time = source.fileSystemInfo?.lastModifiedDateTime
    if (time === undefined) return made
    const change = { method: 'PATCH', url: items.idAddress(made.id), json: timesOf(new Date(time)) } as const
    return await items.change({ ...change, repeatable: true, signal })
  })
  return toEntry(nameOf(to), copied)
}

const unfinished = () => new StorageError('UNAVAILABLE', 'OneDrive did not finish the copy: try again.')

/** Looks at the monitor of a copy until it ends (learn.microsoft.com/graph/long-running-actions-overview). */
async function waitForCopy(items: DriveItems, url: string, interval: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { data } = await items.http.request({ url, isPermission: true, signal })
    const status = property(data, 'status')
    if (status === 'completed') return
    if (status === 'failed' || status === 'deleteFailed') throw failureOf(data)
    await pause(interval, signal)
  }
}

/** Returns the failure of a copy as if the first request had been refused for it. */
function failureOf(data: unknown): RequestFailure {
  const reason = onedrive.reasonOf(data) ?? String(property(data, 'errorCode') ?? 'generalException')
  const status = reason.startsWith('nameAlreadyExists') ? 409 : undefined
  const cause = causeForLog(`The copy failed: ${reason}`, status, reason)
  return new RequestFailure({ status: status ?? 400, reason, retryAfterMs: undefined, cause }, data)
}

/** Removes a copy that ends soon after its call was aborted. Never rejects. */
async function removeLate(items: DriveItems, to: StoragePath, monitor: string, interval: number): Promise<void> {
  const signal = AbortSignal.timeout(4000)
  try {
    await waitForCopy(items, monitor, interval, signal)
    const made = await items.look(to, signal)
    if (made) await items.discard(made)
  } catch {
    // The copy may remain.
  }
}

/** Makes missing parents of the destination and runs `work`. Removes those folders if `work` fails. */
async function atDestination<T>(
  items: DriveItems,
  { to, overwrite, signal }: Transfer,
  source: DriveItem,
  work: (parent: MadeFolder) => Promise<T>,
): Promise<T> {
  const parent = await makeFolders(items, parentOf(to), signal)
  try {
    const result = await work(parent)
    if (result === undefined) await parent.undo()
    return result
  } catch (error) {
    await parent.undo()
    if (!isTaken(error)) throw error
    const existing = overwrite ? await items.look(to, signal) : undefined
    if (!existing) throw alreadyExists()
    throw await refusalOver(kindOf(source), kindOf(existing), () => items.isEmpty(to, signal))
  }
}
