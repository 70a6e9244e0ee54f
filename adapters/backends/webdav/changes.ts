/** Lists what has changed below a folder, at servers with collection synchronization (RFC 6578). */
import { changesAtOnce, changesPage } from '../../bases/changes.ts'
import { isSameName } from '../../bases/plain/staging.ts'
import { type Call, type ChangesPage, joinSegments, StorageError } from '../../contract.ts'
import type { DavClient } from './client.ts'
import { isInvalidToken, statusOf } from './errors.ts'
import { type DavResource, davNamespace, decodeHref } from './multistatus.ts'
import { syncTokenIn, syncTokenRequest } from './properties.ts'

/** Statuses of a server that has no such report, or not for everything below a folder. */
const refusals = [400, 403, 404, 405, 409, 415, 422, 501, 507]

export interface SyncedFolder {
  /** The encoded path, and the decoded one without a `/` at its end. */
  base: string
  decodedBase: string
  /** The name of the folder of unfinished writes at the server. */
  staging: string
}

export async function changesSince(
  client: DavClient,
  folder: SyncedFolder,
  cursor: string | null,
  call: Call,
): Promise<ChangesPage | null> {
  if (cursor === null) {
    const latest = await latestToken(client, folder, call)
    return latest === null ? null : { changed: [], cursor: latest, hasMore: false }
  }
  try {
    return await report(client, folder, cursor, call)
  } catch (error) {
    if (isInvalidToken(error)) {
      const latest = await latestToken(client, folder, call)
      return latest === null ? null : { changed: 'everything', cursor: latest, hasMore: false }
    }
    if (refusals.includes(statusOf(error) ?? 0)) return null
    throw error
  }
}

async function latestToken(client: DavClient, { base }: SyncedFolder, { signal }: Call): Promise<string | null> {
  const headers = { depth: '0', 'content-type': 'application/xml' }
  const response = await client.send('PROPFIND', base, { signal, headers, body: syncTokenRequest })
  let token: string | null = null
  for await (const resource of client.resources(response)) token ??= syncTokenIn(resource)
  return token
}

async function report(
  client: DavClient,
  folder: SyncedFolder,
  token: string,
  { signal }: Call,
): Promise<ChangesPage | null> {
  const body = Buffer.from(
    `<?xml version="1.0"?><d:sync-collection xmlns:d="${davNamespace}"><d:sync-token>${escaped(token)}</d:sync-token>` +
      `<d:sync-level>infinite</d:sync-level><d:limit><d:nresults>${changesAtOnce}</d:nresults></d:limit>` +
      '<d:prop><d:getetag/></d:prop></d:sync-collection>',
  )
  const headers = { depth: '0', 'content-type': 'application/xml' }
  const response = await client.send('REPORT', folder.base, { signal, headers, body })
  const found: DavResource[] = []
  const next = await client.changes(response, resource => found.push(resource))
  if (next === null) throw new StorageError('UNAVAILABLE', 'The server sent no position of its changes: try again.')
  const names = found.map(({ href }) => namesBelow(folder, href))
  if (names.includes(null)) return null
  const changed = names.flatMap(each =>
    each === null || each.length === 0 || each.some(name => isSameName(name, folder.staging))
      ? []
      : [{ path: joinSegments(each) }],
  )
  // The folder itself with this status says that there is more (RFC 6578, section 3.6).
  const hasMore = found.some(({ status }, index) => status === 507 && names[index]?.length === 0)
  return changesPage(changed, next, hasMore && next !== token)
}

/** Returns the names of the path of an address below the folder; null for another address. */
function namesBelow({ decodedBase }: SyncedFolder, href: string): string[] | null {
  const path = decodeHref(href)
  const top = decodedBase.replace(/\/$/, '')
  if (path === top) return []
  return path?.startsWith(`${top}/`) ? path.slice(top.length + 1).split('/') : null
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, character => `&#${character.charCodeAt(0)};`)
}
