import { createHash, randomBytes } from 'node:crypto'
import { ApiError, fileNotFound, notPermitted } from './errors.ts'
import { nameKey } from './query.ts'

export const folderType = 'application/vnd.google-apps.folder'
export const shortcutType = 'application/vnd.google-apps.shortcut'

export interface Content {
  /** The chunks as they arrived. */
  chunks: readonly Buffer[]
  size: number
  md5: string
  sha1: string
  sha256: string
}

export interface Item {
  id: string
  name: string
  mimeType: string
  parent: string | null
  driveId: string | null
  owner: string
  createdTime: number
  modifiedTime: number
  version: number
  explicitlyTrashed: boolean
  content: Content | null
  headRevisionId: string | null
  shortcutTargetId: string | null
  /** The accounts other than the owner that can access it and everything below it. */
  sharedWith: Map<string, 'reader' | 'writer'>
}

export interface Revision {
  id: string
  content: Content
  mimeType: string
  modifiedTime: number
}

export interface SharedDrive {
  id: string
  name: string
  members: Set<string>
}

export const randomId = (prefix = '1', bytes = 24) => prefix + randomBytes(bytes).toString('base64url')

export function contentOf(chunks: readonly Buffer[]): Content {
  const hashes = [createHash('md5'), createHash('sha1'), createHash('sha256')] as const
  for (const chunk of chunks) for (const hash of hashes) hash.update(chunk)
  const [md5, sha1, sha256] = hashes
  const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  return { chunks, size, md5: md5.digest('hex'), sha1: sha1.digest('hex'), sha256: sha256.digest('hex') }
}

/** The files of all accounts, without HTTP. */
export class Store {
  readonly items = new Map<string, Item>()
  readonly drives = new Map<string, SharedDrive>()
  /** Increases with each change, to invalidate caches. */
  changes = 0
  /** The number of the last change of each item, also of removed ones, in the order of the changes. */
  readonly changedIds = new Map<string, number>()
  /** The contents that files have had, and have now, by the id of the file: the oldest first. */
  readonly revisions = new Map<string, Revision[]>()
  /** The storage of an account in bytes. */
  storageLimit = 15 * 1024 ** 3
  readonly #children = new Map<string, Set<string>>()
  readonly #byName = new Map<string, Set<string>>()
  readonly #roots = new Map<string, string>()

  /** Returns the account's My Drive. Creates it on first use. */
  rootOf(account: string): string {
    const known = this.#roots.get(account)
    if (known) return known
    const root = this.add({
      id: randomId('0A', 14),
      name: 'My Drive',
      mimeType: folderType,
      owner: account,
      parent: null,
    })
    this.#roots.set(account, root.id)
    return root.id
  }

  addDrive(name: string, members: readonly string[]): SharedDrive {
    const drive = { id: randomId('0A', 14), name, members: new Set(members) }
    this.drives.set(drive.id, drive)
    this.add({ id: drive.id, name, mimeType: folderType, owner: '', parent: null, driveId: drive.id })
    return drive
  }

  add(given: Partial<Item> & Pick<Item, 'name' | 'mimeType' | 'owner' | 'parent'>): Item {
    const now = Date.now()
    const parent = given.parent === null ? undefined : this.items.get(given.parent)
    const item: Item = {
      id: randomId(),
      driveId: parent?.driveId ?? null,
      createdTime: now,
      modifiedTime: now,
      version: 1,
      explicitlyTrashed: false,
      content: null,
      headRevisionId: given.content ? randomId('0B', 38) : null,
      shortcutTargetId: null,
      sharedWith: new Map(),
      ...given,
    }
    this.items.set(item.id, item)
    this.#index(item)
    this.#note(item)
    this.#keep(item)
    return item
  }

  setContent(item: Item, content: Content, mimeType?: string): void {
    item.content = content
    item.headRevisionId = randomId('0B', 38)
    if (mimeType) item.mimeType = mimeType
    this.touch(item)
    this.#keep(item)
  }

  #keep({ id, content, headRevisionId, mimeType, modifiedTime }: Item): void {
    if (!content || headRevisionId === null) return
    const known = this.revisions.get(id) ?? []
    this.revisions.set(id, [...known, { id: headRevisionId, content, mimeType, modifiedTime }])
  }

  touch(item: Item, modified = true): void {
    item.version += 1
    if (modified) item.modifiedTime = Date.now()
    this.#note(item)
  }

  move(item: Item, parent: string): void {
    this.#unindex(item)
    item.parent = parent
    item.driveId = this.items.get(parent)?.driveId ?? null
    this.#index(item)
    this.touch(item, false)
  }

  rename(item: Item, name: string): void {
    this.#unindex(item)
    item.name = name
    this.#index(item)
    this.touch(item, false)
  }

  /** Deletes an item for good, with everything below it. */
  remove(item: Item): void {
    for (const child of this.childrenOf(item.id)) this.remove(child)
    this.#unindex(item)
    this.items.delete(item.id)
    this.#note(item)
  }

  childrenOf(id: string): Item[] {
    return [...(this.#children.get(id) ?? [])].flatMap(child => this.items.get(child) ?? [])
  }

  /** Returns the items that `name =` matches. */
  childrenNamed(id: string, name: string): Item[] {
    return [...(this.#byName.get(`${id} ${nameKey(name)}`) ?? [])].flatMap(child => this.items.get(child) ?? [])
  }

  isTrashed(item: Item): boolean {
    return item.explicitlyTrashed || this.ancestors(item).some(above => above.explicitlyTrashed)
  }

  ancestors(item: Item): Item[] {
    const found: Item[] = []
    for (let id = item.parent; id !== null; ) {
      const above = this.items.get(id)
      if (!above) break
      found.push(above)
      id = above.parent
    }
    return found
  }

  roleOf(account: string, item: Item): 'reader' | 'writer' | 'owner' | undefined {
    if (item.driveId !== null) return this.drives.get(item.driveId)?.members.has(account) ? 'writer' : undefined
    if (item.owner === account) return 'owner'
    for (const at of [item, ...this.ancestors(item)]) {
      const role = at.owner === account ? 'writer' : at.sharedWith.get(account)
      if (role) return role
    }
    return undefined
  }

  /** @throws 404 notFound, also for files that the account may not see */
  find(account: string, id: string, supportsAllDrives: boolean): Item {
    const item = this.items.get(id === 'root' ? this.rootOf(account) : id)
    if (!item || this.roleOf(account, item) === undefined) throw fileNotFound(id)
    if (item.driveId !== null && !supportsAllDrives) throw fileNotFound(id)
    return item
  }

  /** @throws 403 insufficientFilePermissions */
  checkWritable(account: string, item: Item): void {
    const role = this.roleOf(account, item)
    if (role !== 'writer' && role !== 'owner') throw notPermitted()
  }

  usage(account: string): number {
    let used = 0
    for (const item of this.items.values()) {
      if (item.owner === account && item.driveId === null) used += item.content?.size ?? 0
    }
    return used
  }

  /** @throws 403 storageQuotaExceeded */
  checkQuota(account: string, bytes: number): void {
    if (this.usage(account) + bytes <= this.storageLimit) return
    throw new ApiError(403, 'storageQuotaExceeded', "The user's Drive storage quota has been exceeded.")
  }

  #note({ id }: Item): void {
    this.changes += 1
    this.changedIds.delete(id)
    this.changedIds.set(id, this.changes)
  }

  #index(item: Item): void {
    if (item.parent === null) return
    entryOf(this.#children, item.parent).add(item.id)
    entryOf(this.#byName, `${item.parent} ${nameKey(item.name)}`).add(item.id)
  }

  #unindex(item: Item): void {
    if (item.parent === null) return
    const key = `${item.parent} ${nameKey(item.name)}`
    this.#children.get(item.parent)?.delete(item.id)
    this.#byName.get(key)?.delete(item.id)
    if (this.#byName.get(key)?.size === 0) this.#byName.delete(key)
  }
}

function entryOf(sets: Map<string, Set<string>>, key: string): Set<string> {
  const known = sets.get(key)
  if (known) return known
  const fresh = new Set<string>()
  sets.set(key, fresh)
  return fresh
}
