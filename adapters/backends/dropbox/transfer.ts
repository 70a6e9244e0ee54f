import { randomUUID } from 'node:crypto'
import { RequestFailure } from '../../bases/cloud/client.ts'
import { isTransient, refusalOver } from '../../bases/cloud/errors.ts'
import { isSameName } from '../../bases/cloud/names.ts'
import type { Transfer } from '../../bases/cloud/provider.ts'
import { notAFile, notFound } from '../../bases/errors.ts'
import { childOf, type Entry, nameOf, parentOf, type StorageError } from '../../contract.ts'
import { isFolder, type Metadata } from './api.ts'
import { badName, toEntry } from './entry.ts'
import { isRefusedFor } from './errors.ts'
import type { DropboxFiles } from './files.ts'
import { once } from './write.ts'

/** Copies a file. Dropbox never copies over an existing file. */
export async function copyFile(files: DropboxFiles, transfer: Transfer): Promise<Entry> {
  const { from, to, signal } = transfer
  if (transfer.entry?.kind !== 'file') {
    const source = await files.find(from, signal)
    if (!source) throw notFound()
    if (isFolder(source)) throw notAFile()
  }
  const copied = await relocate(files, 'files/copy_v2', transfer, async () => {
    const [source, found] = await Promise.all([files.find(from, signal), files.find(to, signal)])
    if (!source || !found || isFolder(source) || isFolder(found)) return undefined
    return source.content_hash === found.content_hash ? found : undefined
  })
  if (!isFolder(copied)) return toEntry(nameOf(to), copied)
  // The source has become a folder.
  await files.discard(copied)
  throw notAFile()
}

/** Moves a file, or a folder with everything below it. Dropbox never moves over an existing entry. */
export async function moveEntry(files: DropboxFiles, transfer: Transfer): Promise<Entry> {
  const { from, to, signal } = transfer
  if (from !== to && isSameName(from, to)) return toEntry(nameOf(to), await changeCase(files, transfer))
  const moved = await relocate(files, 'files/move_v2', transfer, async () => {
    const [source, found] = await Promise.all([files.find(from, signal), files.find(to, signal)])
    return source ? undefined : found
  })
  return toEntry(nameOf(to), moved)
}

/** Dropbox does not change the case of a name in one step. */
async function changeCase(files: DropboxFiles, transfer: Transfer): Promise<Metadata> {
  const { from, to } = transfer
  const between = childOf(parentOf(to), `.stowage-rename-${randomUUID()}`)
  const nothing = async () => undefined
  await relocate(files, 'files/move_v2', { ...transfer, to: between }, nothing)
  try {
    return await relocate(files, 'files/move_v2', { ...transfer, from: between }, nothing)
  } catch (error) {
    const signal = AbortSignal.timeout(30_000)
    await relocate(files, 'files/move_v2', { ...transfer, from: between, to: from, signal }, nothing).catch(() => {})
    throw error
  }
}

/** @param findResult looks for the result of a request whose response was lost */
async function relocate(
  files: DropboxFiles,
  route: 'files/copy_v2' | 'files/move_v2',
  transfer: Transfer,
  findResult: () => Promise<Metadata | undefined>,
): Promise<Metadata> {
  const { from, to, signal } = transfer
  const args = { from_path: files.pathOf(from), to_path: files.pathOf(to) }
  try {
    const { metadata } = await files.api.call<{ metadata: Metadata }>(route, args, once(signal))
    if (isSameName(metadata.name, nameOf(to))) return metadata
    if (route === 'files/copy_v2') await files.discard(metadata)
    throw badName()
  } catch (error) {
    if (!(error instanceof RequestFailure)) throw error
    const { failure } = error
    if (isTransient(failure)) {
      const result = await findResult()
      if (result) return result
    }
    const isTaken = isRefusedFor(failure, 'conflict/file', 'conflict/folder')
    if (isTaken && transfer.overwrite) throw await refusalFor(files, transfer, isRefusedFor(failure, 'conflict/file'))
    throw error
  }
}

async function refusalFor(files: DropboxFiles, transfer: Transfer, isOverFile: boolean): Promise<StorageError> {
  const { from, to, entry, signal } = transfer
  const source = entry ?? (await files.entry(from, signal))
  if (!source) return notFound()
  return await refusalOver(source.kind, isOverFile ? 'file' : 'directory', () => files.isEmpty(to, signal))
}
