import { HttpClient } from '../../bases/cloud/client.ts'
import { type CloudDriver, CloudProvider } from '../../bases/cloud/provider.ts'
import { type Timeouts, usualBackoff, usualTimeouts } from '../../bases/cloud/repeat.ts'
import { fromHost } from '../../bases/cloud/tokens.ts'
import { alreadyExists, hasCode, notADirectory, notAFile, notFound } from '../../bases/errors.ts'
import type { Backoff } from '../../bases/retry.ts'
import {
  type Call,
  type Host,
  type ListPage,
  nameOf,
  StorageError,
  type StoragePath,
  segmentsOf,
} from '../../contract.ts'
import { changesSince } from './changes.ts'
import type { Endpoints, GoogleDriveConfig, ServiceAccount } from './config.ts'
import { fromServiceAccount } from './credentials.ts'
import type { Tree } from './destination.ts'
import { google } from './errors.ts'
import { DriveApi, DriveFiles } from './files.ts'
import { Folders, Locks } from './folders.ts'
import { PathIds } from './ids.ts'
import { listPage } from './list.ts'
import type { DriveFile } from './names.ts'
import { isFolder, toEntry } from './names.ts'
import { readFile } from './read.ts'
import { resumableWrites } from './resumable.ts'
import { copyFile, driveTrash, moveEntry } from './transfer.ts'
import { fileVersions } from './versions.ts'
import { Write } from './write.ts'

/** The maximum size of a file in bytes: 5 TB (support.google.com/drive/answer/37603). */
const maxFileSize = 5 * 1024 ** 4

export interface ProviderOptions {
  endpoints: Endpoints
  backoff: Backoff
  timeouts: Timeouts
  /** Milliseconds for which a cached folder id is used without looking it up again. */
  trust: number
}

/** @param account undefined to use the OAuth consent that the host stores */
export async function openProvider(
  { driveId, rootFolderId }: GoogleDriveConfig,
  account: ServiceAccount | undefined,
  host: Host,
  options: Partial<ProviderOptions> & Pick<ProviderOptions, 'endpoints'>,
): Promise<CloudProvider> {
  const { endpoints, backoff = usualBackoff, timeouts = usualTimeouts, trust = 2000 } = options
  const { network } = host
  const token = account ? fromServiceAccount(account, endpoints, network, timeouts.token) : fromHost(host)
  const http = new HttpClient({ vendor: google, network, token, backoff, timeouts })
  const files = new DriveFiles(new DriveApi(http, endpoints.api), { driveId, rootFolderId })
  // Check a service account now. With OAuth there may be no consent yet.
  if (account) await files.root(AbortSignal.timeout(30_000)).catch(refuseRoot)
  const ids = new PathIds(files, trust)
  const locks = new Locks()
  return new CloudProvider(driverOf({ files, ids, locks, folders: new Folders(files, ids, locks) }, host))
}

function refuseRoot(error: unknown): never {
  if (error instanceof StorageError && hasCode(error, 'PERMISSION_DENIED')) {
    throw new StorageError('INVALID_CONFIG', error.message, { cause: error })
  }
  throw error
}

function driverOf(tree: Tree, host: Host): CloudDriver {
  const { files, ids } = tree
  return {
    vendor: google,
    traits: { maxFileSize, storedChecksum: 'sha256', keepsModifiedAt: true },
    resumable: resumableWrites(tree),
    trash: driveTrash(tree),
    versions: fileVersions(tree),

    async find(path, signal) {
      if (path === '') return toEntry('', await files.rootFile(signal))
      const found = await ids.find(segmentsOf(path), signal, 'trusted')
      return found && toEntry(nameOf(path), found.file)
    },

    list: (path, options) => list(tree, path, { ...options, host }),

    async read(path, options) {
      const found = await ids.find(segmentsOf(path), options.signal, 'trusted')
      if (!found) throw notFound()
      if (isFolder(found.file)) throw notAFile()
      return await readFile(files, found.file, { ...options, name: nameOf(path) })
    },

    async write(body, { path, ...options }) {
      return toEntry(nameOf(path), await new Write(tree, segmentsOf(path), options).run(body))
    },

    remove: (path, { signal }) => trash(tree, path, signal, file => refuseFull(files, file, signal)),
    removeTree: (path, { signal }) => trash(tree, path, signal, async () => {}),
    makeFolder: (path, options) => makeFolder(tree, path, options),

    async copy({ from, to, ...options }) {
      const transfer = { from: segmentsOf(from), to: segmentsOf(to), ...options }
      return toEntry(nameOf(to), await copyFile(tree, transfer))
    },

    async move({ from, to, ...options }) {
      const transfer = { from: segmentsOf(from), to: segmentsOf(to), ...options }
      return toEntry(nameOf(to), await moveEntry(tree, transfer))
    },

    quota: signal => files.quota(signal),
    changes: (cursor, { signal }) => changesSince(tree, cursor, signal),
  }
}

async function list(
  { files, ids }: Tree,
  path: StoragePath,
  { host, ...options }: Call & { cursor: string | undefined; limit: number; host: Host },
): Promise<ListPage> {
  const { signal } = options
  const segments = segmentsOf(path)
  const onInvalidNames = (invalid: readonly string[]) => {
    const message = 'A listing left out files whose names are not valid in a path'
    host.warn(message, { path, ids: invalid.slice(0, 10) })
  }
  const selection = { ...options, onInvalidNames }
  const trusted = await ids.trustedFolder(segments, signal)
  if (trusted !== undefined) {
    try {
      return await listPage(files, trusted, selection)
    } catch (error) {
      // The cached folder is missing. Another folder may have its name now.
      if (path === '' || !hasCode(error, 'NOT_FOUND')) throw error
    }
  }
  const found = await ids.find(segments, signal, trusted === undefined ? 'trusted' : 'verified')
  if (!found) throw notFound()
  if (!isFolder(found.file)) throw notADirectory()
  return await listPage(files, found.file.id, selection)
}

/** @throws NOT_EMPTY */
async function refuseFull(files: DriveFiles, file: DriveFile, signal: AbortSignal): Promise<void> {
  if (!isFolder(file) || (await files.isEmpty(file.id, signal))) return
  const selection = { cursor: undefined, limit: 1, signal, onInvalidNames: () => {} }
  const shown = await listPage(files, file.id, selection)
  const isHidden = shown.entries.length === 0 && shown.cursor === undefined
  const message = isHidden
    ? 'The folder contains shortcuts, which listings leave out: delete it with its content.'
    : 'The folder is not empty.'
  throw new StorageError('NOT_EMPTY', message)
}

async function trash(
  { files, ids }: Tree,
  path: StoragePath,
  signal: AbortSignal,
  check: (file: DriveFile) => Promise<void>,
): Promise<void> {
  const found = await ids.find(segmentsOf(path), signal, 'verified')
  if (!found) return
  await check(found.file)
  await files.trash(found.file.id, signal)
  if (isFolder(found.file)) ids.forget(segmentsOf(path))
}

async function makeFolder(
  { ids, folders }: Tree,
  path: StoragePath,
  { signal, exclusive }: Call & { exclusive: boolean },
): Promise<void> {
  const segments = segmentsOf(path)
  const found = await ids.find(segments, signal, 'verified')
  if (found && (exclusive || !isFolder(found.file))) throw alreadyExists()
  if (found) return
  const hold = await folders.hold(exclusive ? segments.slice(0, -1) : segments, signal)
  try {
    if (exclusive) await folders.makeExclusive(hold.id, nameOf(path), signal)
  } catch (error) {
    await hold.undo()
    throw error
  } finally {
    hold.release()
  }
}
