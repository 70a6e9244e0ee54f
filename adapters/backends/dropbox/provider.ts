import { HttpClient, RequestFailure } from '../../bases/cloud/client.ts'
import { isSameName } from '../../bases/cloud/names.ts'
import { type CloudDriver, CloudProvider } from '../../bases/cloud/provider.ts'
import { type Timeouts, usualBackoff, usualTimeouts } from '../../bases/cloud/repeat.ts'
import { fromHost } from '../../bases/cloud/tokens.ts'
import { notEmpty } from '../../bases/errors.ts'
import { inParallel } from '../../bases/limits.ts'
import type { Backoff } from '../../bases/retry.ts'
import { type Call, childOf, type Entry, type Host, type ListPage, nameOf, type StoragePath } from '../../contract.ts'
import { DropboxApi, type FolderMetadata, isFolder } from './api.ts'
import { changesSince } from './changes.ts'
import type { DropboxConfig, Endpoints } from './config.ts'
import { badName, nameTraits, toEntry } from './entry.ts'
import { dropbox, isRefusedFor } from './errors.ts'
import { DropboxFiles, isPresent, means } from './files.ts'
import { readFile } from './read.ts'
import { resumableWrites } from './resumable.ts'
import { copyFile, moveEntry } from './transfer.ts'
import { fileVersions } from './versions.ts'
import { maxFileSize, Write } from './write.ts'

export interface ProviderOptions {
  endpoints: Endpoints
  backoff: Backoff
  timeouts: Timeouts
}

/** Sends no request: there may be no consent yet. */
export function openProvider(
  { space, rootFolder = '' }: DropboxConfig,
  host: Host,
  options: Partial<ProviderOptions> & Pick<ProviderOptions, 'endpoints'>,
): CloudProvider {
  const { endpoints, backoff = usualBackoff, timeouts = usualTimeouts } = options
  const http = new HttpClient({ vendor: dropbox, network: host.network, token: fromHost(host), backoff, timeouts })
  return new CloudProvider(driverOf(new DropboxFiles(new DropboxApi(http, endpoints, space === 'team'), rootFolder)))
}

function driverOf(files: DropboxFiles): CloudDriver {
  return {
    vendor: dropbox,
    traits: { maxFileSize, keepsModifiedAt: true, ...nameTraits },
    resumable: resumableWrites(files),
    versions: fileVersions(files),
    find: (path, signal) => files.entry(path, signal),
    list: (path, options) => listPage(files, path, options),
    read: (path, options) => readFile(files, path, options),
    write: async (body, options) => toEntry(nameOf(options.path), await new Write(files, options).run(body)),
    remove: (path, options) => remove(files, path, options),
    removeTree: (path, { signal }) => removeTree(files, path, signal),
    makeFolder: (path, options) => makeFolder(files, path, options),
    copy: transfer => copyFile(files, transfer),
    move: transfer => moveEntry(files, transfer),
    quota: signal => files.quota(signal),
    changes: (cursor, { signal }) => changesSince(files, cursor, signal),
  }
}

/** @throws NOT_EMPTY */
async function remove(
  files: DropboxFiles,
  path: StoragePath,
  { signal, entry }: Call & { entry: Entry | undefined },
): Promise<void> {
  if (entry?.kind === 'file' && entry.etag !== null) {
    try {
      return await files.remove(path, entry.etag, signal)
    } catch (error) {
      // The path has another version of the file, or a folder, by now.
      if (!(error instanceof RequestFailure && error.failure.status === 409)) throw error
    }
  }
  const found = await files.find(path, signal)
  if (!found) return
  if (isFolder(found) && !(await files.isEmpty(path, signal))) throw notEmpty()
  // The revision ensures that a folder which has replaced the file is not deleted with its content.
  await files.remove(path, isFolder(found) ? undefined : found.rev, signal)
}

/** The number of entries that are deleted at once where Dropbox cannot delete a folder in one step. */
const deletedAtOnce = 8

/** Deletes a folder in one step, or its entries first where it has too many. */
async function removeTree(files: DropboxFiles, path: StoragePath, signal: AbortSignal): Promise<void> {
  try {
    return await files.remove(path, undefined, signal)
  } catch (error) {
    if (!(error instanceof RequestFailure && isRefusedFor(error.failure, 'too_many_files'))) throw error
  }
  for (;;) {
    const { entries } = await listPage(files, path, { cursor: undefined, limit: 1000, signal }).catch(error => {
      if (means(error, 'NOT_FOUND')) return { entries: [] }
      throw error
    })
    if (entries.length === 0) return await files.remove(path, undefined, signal)
    await inParallel(entries, deletedAtOnce, ({ name }) => removeTree(files, childOf(path, name), signal))
  }
}

async function makeFolder(
  files: DropboxFiles,
  path: StoragePath,
  { signal, exclusive }: Call & { exclusive: boolean },
): Promise<void> {
  const options = { signal, repeatable: !exclusive, isCommit: true }
  try {
    const args = { path: files.pathOf(path) }
    const made = await files.api.call<{ metadata: FolderMetadata }>('files/create_folder_v2', args, options)
    if (isSameName(made.metadata.name, nameOf(path))) return
    await files.discard({ ...made.metadata, '.tag': 'folder' })
    throw badName()
  } catch (error) {
    const isThere = error instanceof RequestFailure && isRefusedFor(error.failure, 'conflict/folder')
    if (exclusive || !isThere) throw error
  }
}

/** A position in a listing: the page that `from` returns, without its first entries. */
interface Position {
  /** Dropbox's cursor; the empty string for the first page. */
  from: string
  /** The number of entries of that page that were returned before. */
  skip: number
  /** The id of the first entry that was not. */
  nextId: string
}

/**
 * Returns one page of a folder, of one or several pages of Dropbox, whose size the first request decides. Dropbox may return
 * some more entries than requested. The rest of such a page is returned by the next call, which requests the same page again.
 */
async function listPage(
  files: DropboxFiles,
  path: StoragePath,
  { cursor, limit, signal }: { cursor: string | undefined; limit: number; signal: AbortSignal },
): Promise<ListPage> {
  const entries: Entry[] = []
  let position = cursor === undefined ? start : parse(cursor)
  for (;;) {
    const { from, skip, nextId } = position
    const page = from === '' ? await files.list(path, limit, signal) : await files.listMore(from, signal)
    const found = [...new Map(page.entries.filter(isPresent).map(entry => [entry.id, entry])).values()]
    const index = found.findIndex(({ id }) => id === nextId)
    // Entries that were deleted since are missing from the page. If the next one is, the others moved up.
    const begin = index >= 0 ? index : Math.min(skip, found.length)
    const end = Math.min(found.length, begin + limit - entries.length)
    entries.push(...found.slice(begin, end).map(entry => toEntry(entry.name, entry)))
    const next = found[end]
    if (next) return { entries, cursor: format({ from, skip: end, nextId: next.id }) }
    if (!page.has_more) return { entries }
    position = { from: page.cursor, skip: 0, nextId: '' }
    if (entries.length >= limit) return { entries, cursor: format(position) }
  }
}

const start: Position = { from: '', skip: 0, nextId: '' }

function format({ from, skip, nextId }: Position): string {
  return `${skip}.${nextId}.${from}`
}

function parse(cursor: string): Position {
  const [skip = '', nextId = ''] = cursor.split('.', 2)
  return { skip: Number(skip), nextId, from: cursor.slice(skip.length + nextId.length + 2) }
}
