/**
 * The versions of blobs in an account that keeps them, without a hierarchical namespace
 * (https://learn.microsoft.com/azure/storage/blobs/versioning-overview). The id of a version is the time at which it was written.
 */
import { createHash, randomUUID } from 'node:crypto'
import { hasCode, noVersion } from '../../bases/errors.ts'
import type { ObjectVersions } from '../../bases/objects/driver.ts'
import { StorageError, type VersionPage } from '../../contract.ts'
import type { Container } from './client.ts'
import { type Described, dateOf, describe, stagingKey } from './entry.ts'
import { refusalOf } from './errors.ts'
import { openBlob } from './read.ts'
import { copyBlob } from './write.ts'
import { type ListedVersion, parseVersions } from './xml.ts'

/** Milliseconds. */
const probeTimeout = 5_000
/** The maximum number of items of a listing. */
const pageSize = 5000
/** The maximum length of a cursor. */
const maxCursor = 1024

/** A text of another form is refused as a bad parameter, and not as an unknown version. */
const versionId = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,7})?Z$/

/**
 * Returns whether the account keeps what is replaced. Only the response to a write says so, so this writes an empty blob and deletes it. False
 * where the credentials do not allow that.
 * @throws UNAVAILABLE during an outage, because a guess would make Stowage keep each version twice or not at all
 */
export async function keepsVersions(container: Container, signal: AbortSignal): Promise<boolean> {
  const key = stagingKey(container.settings.base, randomUUID())
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(probeTimeout)])
  try {
    const headers = { 'x-ms-blob-type': 'BlockBlob', 'if-none-match': '*' }
    const stored = await container.call({ method: 'PUT', key, headers }, bounded)
    const id = stored.headers['x-ms-version-id']?.toString()
    // What stays is empty, and has a name that nobody sees.
    await container.remove(key, bounded).catch(() => {})
    if (id !== undefined) await removeVersion(container, key, id, bounded).catch(() => {})
    signal.throwIfAborted()
    return id !== undefined
  } catch (error) {
    signal.throwIfAborted()
    if (hasCode(error, 'UNAVAILABLE', 'RATE_LIMITED')) throw error
    if (!bounded.aborted) return false
    throw new StorageError('UNAVAILABLE', 'Azure did not say in time whether it keeps versions: try again.', {
      cause: error,
    })
  }
}

export function blobVersions(container: Container): ObjectVersions<Described> {
  return {
    list: (key, options) => listVersions(container, key, options),

    async head(key, id, signal) {
      if (!versionId.test(id)) return undefined
      try {
        const { headers } = await container.call({ method: 'HEAD', key, query: { versionid: id } }, signal)
        // The present content is none of the earlier versions.
        if (headers['x-ms-is-current-version'] === 'true') return undefined
        return describe(headers, Number(headers['content-length'] ?? 0))
      } catch (error) {
        if (isUnknown(error)) return undefined
        throw error
      }
    },

    async get(key, id, range, signal) {
      if (!versionId.test(id)) throw noVersion()
      try {
        return await openBlob(container, { key, versionId: id }, range, signal)
      } catch (error) {
        throw isUnknown(error) ? noVersion(error) : error
      }
    },

    restore: (id, facts, destination) =>
      copyBlob(container, { key: destination.key, versionId: id, facts }, destination),

    async remove(key, id, signal) {
      if (versionId.test(id)) await removeVersion(container, key, id, signal)
    },

    deleted: (prefix, options) => listDeleted(container, prefix, options),
  }
}

async function removeVersion(container: Container, key: string, id: string, signal: AbortSignal): Promise<void> {
  await container.call({ method: 'DELETE', key, query: { versionid: id } }, signal).catch(error => {
    if (!isUnknown(error)) throw error
  })
}

function isUnknown(error: unknown): boolean {
  return hasCode(error, 'NOT_FOUND') || refusalOf(error)?.code === 'InvalidQueryParameterValue'
}

async function pageOf(
  container: Container,
  prefix: string,
  { limit, marker }: { limit: number; marker: string | undefined },
  signal: AbortSignal,
): Promise<{ items: ListedVersion[]; next: string | undefined }> {
  const query = {
    restype: 'container',
    comp: 'list',
    include: 'metadata,versions',
    maxresults: String(limit),
    ...(prefix && { prefix }),
    ...(marker !== undefined && { marker }),
  }
  return parseVersions((await container.call({ method: 'GET', query }, signal)).text)
}

/** When the content was stored. */
function timeOf({ id, facts }: Pick<ListedVersion, 'id' | 'facts'>): Date | null {
  return dateOf(id) ?? facts.lastModified
}

/**
 * Azure lists the oldest version first, so this reads all of them, but keeps no more than a page. The cursor is the id after which the page
 * begins.
 */
async function listVersions(
  container: Container,
  key: string,
  { cursor, limit, signal }: { cursor: string | undefined; limit: number; signal: AbortSignal },
): Promise<VersionPage> {
  let newest: (ListedVersion & { id: string })[] = []
  let current: ListedVersion | undefined
  let marker: string | undefined
  do {
    const { items, next } = await pageOf(container, key, { limit: pageSize, marker }, signal)
    // The name itself is the first of all names with the prefix.
    const own = items.filter(item => item.key === key && !item.facts.isFolder)
    current = own.find(({ isCurrent }) => isCurrent) ?? current
    const earlier = own.flatMap(item => {
      const { id, isCurrent } = item
      return id === undefined || isCurrent || (cursor !== undefined && id >= cursor) ? [] : [{ ...item, id }]
    })
    newest = [...newest, ...earlier].toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit + 1)
    marker = items.every(item => item.key === key) ? next : undefined
  } while (marker !== undefined)
  let replacedAt = cursor === undefined ? current && timeOf(current) : dateOf(cursor)
  const versions = newest.slice(0, limit).map(version => {
    const { id, facts } = version
    const modifiedAt = timeOf(version)
    const found = { id, size: facts.size, modifiedAt, etag: facts.etag, ...(replacedAt && { replacedAt }) }
    replacedAt = modifiedAt
    return found
  })
  const last = versions.at(-1)?.id
  return { versions, ...(newest.length > limit && last !== undefined && { cursor: last }) }
}

/**
 * Finds the names of which there is no present content. The versions of a name can continue on the next page. A request therefore decides
 * about the last name of a page, and the cursor has a hash of it beside the marker of Azure.
 */
async function listDeleted(
  container: Container,
  prefix: string,
  { cursor, limit, signal }: { cursor: string | undefined; limit: number; signal: AbortSignal },
): Promise<{ keys: string[]; cursor?: string }> {
  const [, decided, marker] = /^(\S*) (.+)$/s.exec(cursor ?? '') ?? []
  const { items, next } = await pageOf(container, prefix, { limit, marker }, signal)
  const names = Map.groupBy(
    items.filter(({ facts }) => !facts.isFolder),
    ({ key }) => key ?? '',
  )
  names.delete('')
  const last = items.at(-1)?.key ?? ''
  const keys: string[] = []
  for (const [key, versions] of names) {
    if (versions.some(({ isCurrent }) => isCurrent) || hashOf(key) === decided) continue
    const isMore = next !== undefined && key === last
    if (!isMore || !(await container.head(key, signal))) keys.push(key)
  }
  if (next === undefined) return { keys }
  const following = `${hashOf(last)} ${next}`
  if (following.length > maxCursor) {
    throw new StorageError('UNAVAILABLE', 'Azure cannot continue this list, because a name is too long.')
  }
  return { keys, cursor: following }
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 22)
}
