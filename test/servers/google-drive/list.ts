import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { ApiError, invalidValue } from './errors.ts'
import { matches, nameKey, namesIn, parentOf, parseQuery, type Query } from './query.ts'
import { folderType, type Item, type Store } from './store.ts'

/** The lifetime of a page token in milliseconds. Google says "typically several hours". */
const tokenLifetime = 4 * 3_600_000

type SortKey = readonly (string | number)[]

/** Encrypts page tokens with a key of this server, so that they are opaque. */
export class PageTokens {
  readonly #key = randomBytes(32)
  /** Tokens from before this time are refused. */
  expiredBefore = 0

  seal(content: object): string {
    const iv = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv)
    const text = JSON.stringify({ ...content, made: Date.now() })
    return `~!!~${Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64url')}`
  }

  /** @throws 400 invalid, location `pageToken` */
  open(token: string): { request: string; last: SortKey } {
    try {
      const bytes = Buffer.from(token.slice(4), 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, 12))
      decipher.setAuthTag(bytes.subarray(-16))
      const text = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString()
      const content = JSON.parse(text)
      if (content.made + tokenLifetime > Date.now() && content.made > this.expiredBefore) return content
    } catch {
      // Refuse it like any other invalid token.
    }
    throw invalidValue('pageToken')
  }
}

export interface Listing {
  account: string
  q: string | null
  orderBy: string | null
  corpora: string | null
  driveId: string | null
  includeItemsFromAllDrives: boolean
  supportsAllDrives: boolean
  pageSize: number
  pageToken: string | null
}

const sortKeys: Record<string, (item: Item) => string | number> = {
  name: item => nameKey(item.name),
  name_natural: item => nameKey(item.name).replace(/\d+/g, digits => digits.padStart(12, '0')),
  createdTime: item => item.createdTime,
  modifiedTime: item => item.modifiedTime,
  folder: item => (item.mimeType === folderType ? 0 : 1),
  quotaBytesUsed: item => item.content?.size ?? 0,
  recency: item => item.modifiedTime,
}

/** files.list for the files that one account can see. Sorted lists are cached until something changes. */
export class Lister {
  readonly #store: Store
  readonly tokens = new PageTokens()
  /** The maximum number of entries in a page, even if more are requested: Drive does not promise full pages. */
  maxPage = 1000
  #sorted: { changes: number; lists: Map<string, Item[]> } = { changes: -1, lists: new Map() }

  constructor(store: Store) {
    this.#store = store
  }

  list(listing: Listing): { files: Item[]; nextPageToken: string | undefined } {
    checkCorpora(listing)
    const request = createHash('sha256')
      .update(JSON.stringify([listing.account, listing.q, listing.orderBy, listing.corpora, listing.driveId]))
      .digest('base64url')
    const keyOf = parseOrder(listing.orderBy)
    const token = listing.pageToken === null ? undefined : this.tokens.open(listing.pageToken)
    if (token && token.request !== request) throw invalidValue('pageToken')
    const all = this.#find(listing, request, keyOf)
    const start = token ? firstAfter(all, keyOf, token.last) : 0
    const size = Math.min(listing.pageSize, this.maxPage)
    const files = all.slice(start, start + size)
    const last = files.at(-1)
    if (!last || start + size >= all.length) return { files, nextPageToken: undefined }
    return { files, nextPageToken: this.tokens.seal({ request, last: keyOf(last) }) }
  }

  #find(listing: Listing, request: string, keyOf: (item: Item) => SortKey): Item[] {
    const store = this.#store
    if (this.#sorted.changes !== store.changes) this.#sorted = { changes: store.changes, lists: new Map() }
    const cacheKey = `${request} ${listing.includeItemsFromAllDrives}`
    const known = this.#sorted.lists.get(cacheKey)
    if (known) return known
    const query = listing.q === null ? undefined : parseQuery(listing.q)
    const found = this.#candidates(query, listing).filter(item => isIn(store, item, listing, query))
    const keyed = found.map(item => ({ item, key: keyOf(item) })).sort((a, b) => compareKeys(a.key, b.key))
    const sorted = keyed.map(({ item }) => item)
    this.#sorted.lists.set(cacheKey, sorted)
    return sorted
  }

  #candidates(query: Query | undefined, { account }: Listing): Item[] {
    const parent = query && parentOf(query)
    if (parent === undefined) return [...this.#store.items.values()].filter(item => item.parent !== null)
    const id = parent === 'root' ? this.#store.rootOf(account) : parent
    if (!this.#store.items.has(id)) throw new ApiError(404, 'notFound', `File not found: .`, { location: 'fileId' })
    const names = query && namesIn(query)
    if (!names) return this.#store.childrenOf(id)
    return [...new Set(names.flatMap(name => this.#store.childrenNamed(id, name)))]
  }
}

function isIn(store: Store, item: Item, listing: Listing, query: Query | undefined): boolean {
  if (store.roleOf(listing.account, item) === undefined) return false
  if (item.driveId !== null && !listing.includeItemsFromAllDrives) return false
  if (listing.driveId !== null && item.driveId !== listing.driveId) return false
  if (!query) return true
  const parents = item.parent === null ? [] : [item.parent]
  if (item.parent === store.rootOf(listing.account)) parents.push('root')
  return matches(query, { ...item, trashed: store.isTrashed(item), parents })
}

function checkCorpora(listing: Listing): void {
  if (listing.corpora !== null && !['user', 'drive', 'domain', 'allDrives'].includes(listing.corpora)) {
    throw invalidValue('corpora')
  }
  if ((listing.corpora === 'drive') !== (listing.driveId !== null)) {
    throw new ApiError(400, 'invalid', 'The driveId parameter must be specified with corpora=drive, and only with it.')
  }
  if (listing.includeItemsFromAllDrives && !listing.supportsAllDrives) {
    throw new ApiError(403, 'teamDrivesShortcutFileNotSupported', 'supportsAllDrives is needed for such items.')
  }
  if (listing.driveId !== null && !listing.includeItemsFromAllDrives) {
    throw new ApiError(403, 'teamDrivesParentLimit', 'includeItemsFromAllDrives is needed with corpora=drive.')
  }
}

/** Sorts by id where no order is requested, so that no test relies on an order. */
function parseOrder(orderBy: string | null): (item: Item) => SortKey {
  if (orderBy === null) return item => [item.id]
  const keys = orderBy.split(',').map(part => {
    const [name = '', direction] = part.trim().split(/\s+/)
    const key = sortKeys[name]
    if (!key || (direction !== undefined && direction !== 'desc')) throw invalidValue('orderBy')
    if (direction === undefined) return key
    return (item: Item) => {
      const value = key(item)
      return typeof value === 'number'
        ? -value
        : [...value].map(c => String.fromCharCode(0xffff - c.charCodeAt(0))).join('')
    }
  })
  return item => [...keys.map(key => key(item)), item.id]
}

function compareKeys(a: SortKey, b: SortKey): number {
  for (const [i, left] of a.entries()) {
    const right = b[i]
    if (right !== undefined && left !== right) return left < right ? -1 : 1
  }
  return 0
}

function firstAfter(items: readonly Item[], keyOf: (item: Item) => SortKey, last: SortKey): number {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const item = items[middle]
    if (item && compareKeys(keyOf(item), last) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
