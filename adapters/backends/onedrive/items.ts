import type { HttpClient, HttpRequest } from '../../bases/cloud/client.ts'
import { property, refuseTooLarge } from '../../bases/cloud/errors.ts'
import { notADirectory } from '../../bases/errors.ts'
import { nameOf, parentOf, type Quota, StorageError, type StoragePath } from '../../contract.ts'
import { type DriveItem, isFolder, isShown, itemFields, pathBelow, requireStorable } from './entry.ts'
import { isRefused, isTaken } from './errors.ts'

interface ItemsPage {
  value: DriveItem[]
  '@odata.nextLink'?: string
}

/** The items of a drive by path (learn.microsoft.com/graph/onedrive-addressing-driveitems). */
export class DriveItems {
  readonly http: HttpClient
  readonly drive: string
  readonly #root: string

  /** @param drive the address of the drive; @param root the path of the root folder; the empty string for the whole drive */
  constructor(http: HttpClient, { drive, root }: { drive: string; root: string }) {
    this.http = http
    this.drive = drive
    this.#root = root
  }

  /** Returns the address of a path, or of something below it, such as `children`. @throws INVALID_PATH */
  addressOf(path: StoragePath, below = ''): string {
    requireStorable(path, this.#root)
    const fullPath = path === '' ? this.#root : `${this.#root}/${path}`
    const suffix = below === '' ? '' : `/${below}`
    if (fullPath === '') return `${this.drive}/root${suffix}`
    const encoded = fullPath.split('/').map(encodeURIComponent).join('/')
    return `${this.drive}/root:${encoded}${suffix === '' ? '' : `:${suffix}`}`
  }

  idAddress(id: string, below = ''): string {
    return `${this.drive}/items/${encodeURIComponent(id)}${below === '' ? '' : `/${below}`}`
  }

  /** Returns undefined for a missing path, and for an item that is not shown. */
  async find(path: StoragePath, signal: AbortSignal): Promise<DriveItem | undefined> {
    const item = await this.look(path, signal)
    return item && isShown(item) ? item : undefined
  }

  /** Returns any item at a path. @throws PERMISSION_DENIED if the root folder is missing */
  async look(path: StoragePath, signal: AbortSignal, query = `?$select=${itemFields}`): Promise<DriveItem | undefined> {
    try {
      return (await this.http.request({ url: `${this.addressOf(path)}${query}`, signal })).data as DriveItem
    } catch (error) {
      if (!isRefused(error, 404)) throw error
      if (path === '') throw missingRoot()
      return undefined
    }
  }

  /** Returns the path of an item, null for one that is missing or outside of the root folder. */
  async pathOf(id: string, signal: AbortSignal): Promise<StoragePath | null> {
    try {
      const { data } = await this.http.request({ url: `${this.idAddress(id)}?$select=${itemFields},root`, signal })
      return pathBelow(this.#root, data as DriveItem)
    } catch (error) {
      if (isRefused(error, 404)) return null
      throw error
    }
  }

  /** Returns one page of a folder. @param token from the page before */
  async children(path: StoragePath, limit: number, token: string | undefined, signal: AbortSignal) {
    const query = new URLSearchParams({ $top: String(limit), $select: itemFields })
    if (token !== undefined) query.set('$skiptoken', token)
    const { data } = await this.http.request({ url: `${this.addressOf(path, 'children')}?${query}`, signal })
    const { value, '@odata.nextLink': next } = data as ItemsPage
    return { items: value, token: next === undefined ? undefined : tokenOf(next) }
  }

  async makeFolder(parent: StoragePath, name: string, signal: AbortSignal): Promise<DriveItem> {
    const json = { name, folder: {}, '@microsoft.graph.conflictBehavior': 'fail' }
    return await this.change({ method: 'POST', url: this.addressOf(parent, 'children'), json, signal })
  }

  /** Sends a change and returns the changed item. Once it is sent, an abort does not end it. */
  async change(request: HttpRequest): Promise<DriveItem> {
    return (await this.http.request({ isCommit: true, ...request })).data as DriveItem
  }

  /** Deletes this version of an item, with everything below it. Returns false if it has changed since. */
  async remove({ id, eTag }: DriveItem, signal: AbortSignal): Promise<boolean> {
    const headers = eTag === undefined ? {} : { 'if-match': eTag }
    const request = { method: 'DELETE', url: this.idAddress(id), headers, accept: [404], repeatable: true } as const
    try {
      await this.http.request({ ...request, signal })
      return true
    } catch (error) {
      if (isRefused(error, 412)) return false
      throw error
    }
  }

  /** Deletes an item that was just created. Never rejects. */
  async discard(item: DriveItem): Promise<void> {
    // The caller needs the error that made the call fail, not this one.
    await this.remove(item, AbortSignal.timeout(30_000)).catch(() => {})
  }

  async isEmpty(path: StoragePath, signal: AbortSignal): Promise<boolean> {
    const { items } = await this.children(path, 1, undefined, signal)
    return items.length === 0
  }

  /** @throws NOT_A_DIRECTORY */
  requireFolder(item: DriveItem): void {
    if (!isFolder(item) || !isShown(item)) throw notADirectory()
  }

  async quota(signal: AbortSignal): Promise<Quota> {
    const { data } = await this.http.request({ url: `${this.drive}?$select=id,quota`, signal })
    const quota = property(data, 'quota')
    const bytes = (name: string) => {
      const value = property(quota, name)
      return typeof value === 'number' && value >= 0 ? value : null
    }
    // A total of 0 means that Microsoft shows no quota.
    return { used: bytes('used'), total: bytes('total') || null }
  }

  /** @throws QUOTA_EXCEEDED */
  async refuseTooLarge(size: number, signal: AbortSignal): Promise<void> {
    const message = 'The OneDrive has too little free space for this file: free some space.'
    refuseTooLarge(await this.quota(signal), size, message)
  }
}

const missingRoot = () =>
  new StorageError('PERMISSION_DENIED', 'The drive or its root folder does not exist: check the configuration.')

/** Returns the token of a link to the next page. @throws UNAVAILABLE */
export function tokenOf(link: string): string {
  const token = new URL(link).searchParams.get('$skiptoken')
  if (token === null || token === '') {
    throw new StorageError('UNAVAILABLE', 'OneDrive sent an unexpected response: try again.')
  }
  return token
}

/** A folder that a write needs. */
export interface MadeFolder {
  folder: DriveItem
  /** Deletes the folders that were made for it, if they are still empty. Never rejects. */
  undo(): Promise<void>
}

/** Finds a folder, or makes it with its parents. @throws NOT_A_DIRECTORY */
export async function makeFolders(items: DriveItems, path: StoragePath, signal: AbortSignal): Promise<MadeFolder> {
  const made: StoragePath[] = []
  const undo = async () => {
    for (const each of made.toReversed()) if (!(await removeEmpty(items, each))) return
  }
  try {
    return { folder: await enter(items, path, made, signal), undo }
  } catch (error) {
    await undo()
    throw error
  }
}

async function enter(
  items: DriveItems,
  path: StoragePath,
  made: StoragePath[],
  signal: AbortSignal,
): Promise<DriveItem> {
  const known = await items.look(path, signal)
  if (known) {
    items.requireFolder(known)
    return known
  }
  await enter(items, parentOf(path), made, signal)
  try {
    const folder = await items.makeFolder(parentOf(path), nameOf(path), signal)
    made.push(path)
    return folder
  } catch (error) {
    // Another call has made it, or the parent was deleted.
    if (!isTaken(error) && !isRefused(error, 404)) throw error
    const found = await items.look(path, signal)
    if (!found) throw error
    items.requireFolder(found)
    return found
  }
}

/** Returns false if the folder is in use. */
async function removeEmpty(items: DriveItems, path: StoragePath): Promise<boolean> {
  const signal = AbortSignal.timeout(30_000)
  try {
    const folder = await items.look(path, signal)
    if (!folder) return true
    return isFolder(folder) && (await items.isEmpty(path, signal)) && (await items.remove(folder, signal))
  } catch {
    // An empty folder may remain. The caller needs the error that made the call fail.
    return false
  }
}
