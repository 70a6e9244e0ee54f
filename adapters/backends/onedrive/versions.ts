/**
 * The versions that OneDrive and SharePoint keep of files, as the settings of the account or the library say. They delete versions by
 * themselves. https://learn.microsoft.com/graph/api/driveitem-list-versions
 */
import { Readable } from 'node:stream'
import { bodyOfLength } from '../../bases/cloud/client.ts'
import { notFound, noVersion, positionsOf } from '../../bases/errors.ts'
import {
  type Call,
  type Entry,
  type NativeVersion,
  type NativeVersions,
  nameOf,
  type StoragePath,
} from '../../contract.ts'
import { isFolder, toEntry } from './entry.ts'
import { isRefused } from './errors.ts'
import { type DriveItems, tokenOf } from './items.ts'

/** The maximum number of pages of versions of one file. */
const maxPages = 20

interface ItemVersion {
  id: string
  lastModifiedDateTime?: string
  size?: number
}

interface VersionsPage {
  value: ItemVersion[]
  '@odata.nextLink'?: string
}

export function fileVersions(items: DriveItems): NativeVersions {
  /** Returns the versions of the file at a path, the newest first and the present one before them; null for no file. */
  async function allOf(path: StoragePath, signal: AbortSignal): Promise<{ id: string; all: ItemVersion[] } | null> {
    const item = path === '' ? undefined : await items.find(path, signal)
    if (!item || isFolder(item)) return null
    const all: ItemVersion[] = []
    let query = ''
    for (let page = 0; page < maxPages; page += 1) {
      const { data } = await items.http.request({ url: `${items.idAddress(item.id, 'versions')}${query}`, signal })
      const { value, '@odata.nextLink': next } = data as VersionsPage
      all.push(...value)
      if (next === undefined) break
      query = `?${new URLSearchParams({ $skiptoken: tokenOf(next) })}`
    }
    return { id: item.id, all }
  }

  /** @throws NOT_FOUND, also for the present version */
  async function find(path: StoragePath, id: string, signal: AbortSignal) {
    const found = await allOf(path, signal)
    const version = found?.all.slice(1).find(each => each.id === id)
    if (!found || !version) throw noVersion()
    return { version, address: items.idAddress(found.id, `versions/${encodeURIComponent(id)}`) }
  }

  return {
    async list(path, { signal, cursor, limit }) {
      const all = (await allOf(path, signal))?.all ?? []
      // The first one is the content of now.
      const begin = cursor === undefined ? 1 : Math.max(1, all.findIndex(({ id }) => id === cursor) + 1)
      const shown = all.slice(begin, begin + limit)
      const versions = shown.map((version, index): NativeVersion => {
        const replacedAt = timeOf(all[begin + index - 1])
        return { id: version.id, ...factsOf(version), ...(replacedAt && { replacedAt }) }
      })
      const last = shown.at(-1)
      return { versions, ...(last && begin + limit < all.length && { cursor: last.id }) }
    },

    async stat(path, id, { signal }) {
      return entryOf(path, (await find(path, id, signal)).version)
    },

    async read(path, id, { signal, range }) {
      const { version, address } = await find(path, id, signal)
      const entry = entryOf(path, version)
      const { start, end } = positionsOf(entry.size ?? 0, range)
      if (end === start) return { body: Readable.from([], { objectMode: false }), entry }
      const headers = range ? { range: `bytes=${start}-${end - 1}` } : {}
      const response = await items.http
        .request({ url: `${address}/content`, headers, stream: true, signal })
        .catch(error => {
          throw isRefused(error, 404) ? noVersion() : error
        })
      return { body: bodyOfLength(response, end - start, 'OneDrive'), entry }
    },

    async restore(path, id, { signal }: Call) {
      const { address } = await find(path, id, signal)
      await items.http.request({ method: 'POST', url: `${address}/restoreVersion`, isCommit: true, signal })
      const item = await items.find(path, signal)
      if (!item) throw notFound()
      return toEntry(nameOf(path), item)
    },
  }
}

function timeOf(version: ItemVersion | undefined): Date | undefined {
  return version?.lastModifiedDateTime === undefined ? undefined : new Date(version.lastModifiedDateTime)
}

function factsOf(version: ItemVersion) {
  return { size: version.size ?? null, modifiedAt: timeOf(version) ?? null, etag: null }
}

function entryOf(path: StoragePath, version: ItemVersion): Entry {
  return { name: nameOf(path), kind: 'file', ...factsOf(version), mimeType: null }
}
