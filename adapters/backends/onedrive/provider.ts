import { HttpClient } from '../../bases/cloud/client.ts'
import { type CloudDriver, CloudProvider } from '../../bases/cloud/provider.ts'
import { type Timeouts, usualBackoff, usualTimeouts } from '../../bases/cloud/repeat.ts'
import { fromHost } from '../../bases/cloud/tokens.ts'
import { notADirectory, notEmpty, notFound } from '../../bases/errors.ts'
import type { Backoff } from '../../bases/retry.ts'
import {
  type Call,
  type Host,
  type ListPage,
  nameOf,
  parentOf,
  StorageError,
  type StoragePath,
} from '../../contract.ts'
import { changesSince } from './changes.ts'
import { drivePathOf, type Endpoints, type OneDriveConfig } from './config.ts'
import { isFolder, isShown, nameTraits, toEntry } from './entry.ts'
import { isRefused, isTaken, onedrive } from './errors.ts'
import { DriveItems, makeFolders } from './items.ts'
import { readFile } from './read.ts'
import { copyFile, moveEntry } from './transfer.ts'
import { maxFileSize } from './upload.ts'
import { fileVersions } from './versions.ts'
import { Write } from './write.ts'

export interface ProviderOptions {
  endpoints: Endpoints
  backoff: Backoff
  timeouts: Timeouts
  /** Milliseconds between looks at a copy that OneDrive makes. */
  copyInterval: number
}

/** Sends no request: there may be no consent yet. */
export function openProvider(
  config: OneDriveConfig,
  host: Host,
  options: Partial<ProviderOptions> & Pick<ProviderOptions, 'endpoints'>,
): CloudProvider {
  const { endpoints, backoff = usualBackoff, timeouts = usualTimeouts, copyInterval = 500 } = options
  const http = new HttpClient({ vendor: onedrive, network: host.network, token: fromHost(host), backoff, timeouts })
  const drive = `${endpoints.api}${drivePathOf(config)}`
  return new CloudProvider(driverOf(new DriveItems(http, { drive, root: config.rootFolder ?? '' }), copyInterval))
}

function driverOf(items: DriveItems, copyInterval: number): CloudDriver {
  return {
    vendor: onedrive,
    traits: { maxFileSize, keepsModifiedAt: true, ...nameTraits },
    versions: fileVersions(items),

    async find(path, signal) {
      const item = await items.find(path, signal)
      return item && toEntry(nameOf(path), item)
    },

    list: (path, options) => listPage(items, path, options),
    read: (path, options) => readFile(items, path, options),
    write: async (body, options) => toEntry(nameOf(options.path), await new Write(items, options).run(body)),
    remove: (path, { signal }) => remove(items, path, signal),

    async removeTree(path, { signal }) {
      const item = await items.find(path, signal)
      if (item) await items.remove({ id: item.id, name: item.name }, signal)
    },

    makeFolder: (path, options) => makeFolder(items, path, options),
    copy: transfer => copyFile(items, transfer, copyInterval),
    move: transfer => moveEntry(items, transfer),
    quota: signal => items.quota(signal),
    changes: (cursor, { signal }) => changesSince(items, cursor, signal),
  }
}

/** Attempts to delete an entry that changes meanwhile. */
const deleteAttempts = 3

/** @throws NOT_EMPTY */
async function remove(items: DriveItems, path: StoragePath, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; attempt < deleteAttempts; attempt += 1) {
    const item = await items.find(path, signal)
    if (!item) return
    if (isFolder(item) && !(await items.isEmpty(path, signal))) throw notEmpty()
    if (await items.remove(item, signal)) return
  }
  throw new StorageError('UNAVAILABLE', 'The entry was changed at the same moment: try again.')
}

async function makeFolder(
  items: DriveItems,
  path: StoragePath,
  { signal, exclusive }: Call & { exclusive: boolean },
): Promise<void> {
  // Refuses a path that is too long for OneDrive. The request that makes a folder has only the address of its parent.
  items.addressOf(path)
  const parent = await makeFolders(items, parentOf(path), signal)
  try {
    await items.makeFolder(parentOf(path), nameOf(path), signal)
  } catch (error) {
    const existing = isTaken(error) && !exclusive ? await items.look(path, signal) : undefined
    if (existing && isFolder(existing)) return
    await parent.undo()
    throw error
  }
}

/** Returns one page of a folder, without shortcuts and notebooks. */
async function listPage(
  items: DriveItems,
  path: StoragePath,
  { cursor, limit, signal }: { cursor: string | undefined; limit: number; signal: AbortSignal },
): Promise<ListPage> {
  const page = await items.children(path, limit, cursor, signal).catch(async error => {
    // Refuses a file in the same way as a missing folder.
    if (cursor === undefined && isRefused(error, 400, 404)) await requireFolder(items, path, signal)
    throw error
  })
  if (cursor === undefined && page.items.length === 0) await requireFolder(items, path, signal)
  const entries = page.items.filter(isShown).map(item => toEntry(item.name, item))
  return page.token === undefined ? { entries } : { entries, cursor: page.token }
}

/** @throws NOT_FOUND, NOT_A_DIRECTORY */
async function requireFolder(items: DriveItems, path: StoragePath, signal: AbortSignal): Promise<void> {
  const item = await items.find(path, signal)
  if (!item) throw notFound()
  if (!isFolder(item)) throw notADirectory()
}
