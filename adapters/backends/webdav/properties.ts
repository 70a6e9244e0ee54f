import type { Facts } from '../../bases/plain/files.ts'
import type { ChecksumAlgorithm, Quota } from '../../contract.ts'
import { type DavResource, davNamespace, ocNamespace } from './multistatus.ts'

const dav = (name: string) => `${davNamespace} ${name}`
const oc = (name: string) => `${ocNamespace} ${name}`

function request(...names: string[]): Buffer {
  const properties = names.map(name => `<${name}/>`).join('')
  const namespaces = `xmlns:d="${davNamespace}" xmlns:oc="${ocNamespace}"`
  return Buffer.from(`<?xml version="1.0"?><d:propfind ${namespaces}><d:prop>${properties}</d:prop></d:propfind>`)
}

const facts = ['d:resourcetype', 'd:getcontentlength', 'd:getlastmodified', 'd:getetag']
const ocFacts = ['oc:fileid', 'oc:checksums']

export const factsRequest = request(...facts)
/** For servers with the properties of ownCloud. */
export const ocFactsRequest = request(...facts, ...ocFacts)
const quota = ['d:quota-available-bytes', 'd:quota-used-bytes']
export const quotaRequest = request(...quota)
/** The position in the changes of a folder: RFC 6578. */
export const syncTokenRequest = request('d:sync-token')
/** Shows what the server can do. */
export const featuresRequest = request(...facts, ...ocFacts, ...quota, 'd:sync-token')

/** Milliseconds: servers compute an etag from a time of whole seconds, so it names one version only once that time is over. */
const etagAge = 2_000
const etagPattern = /^"([\x21\x23-\x7e]{1,256})"$/

export interface ServerFacts {
  /** The start of every `fileId`. */
  storeId: string
  /** The server has the properties and headers of ownCloud, and etags that differ for every version. */
  isOwnCloud: boolean
}

/** @param date the time of the response, by the clock of the server */
export function toFacts({ properties }: DavResource, date: string | null, server: ServerFacts): Facts {
  const text = (name: string) => properties.get(name)?.text.trim()
  const isFolder = properties.get(dav('resourcetype'))?.elements.includes(dav('collection')) ?? false
  const modifiedAt = timeOf(text(dav('getlastmodified')))
  const length = text(dav('getcontentlength'))
  const isSettled = modifiedAt !== null && (timeOf(date)?.getTime() ?? 0) - modifiedAt.getTime() > etagAge
  const etag = etagPattern.exec(text(dav('getetag')) ?? '')?.[1]
  const id = text(oc('fileid'))
  const checksums = isFolder ? undefined : checksumsIn(text(oc('checksums')))
  return {
    kind: isFolder ? 'directory' : 'file',
    size: isFolder || length === undefined || !/^\d{1,16}$/.test(length) ? null : Number(length),
    modifiedAt,
    etag: etag !== undefined && (server.isOwnCloud || isSettled) ? etag : null,
    ...(checksums && { checksums }),
    ...(server.isOwnCloud && id !== undefined && id !== '' && { fileId: `${server.storeId}#${id}` }),
  }
}

export function toQuota({ properties }: DavResource): Quota {
  const number = (name: string) => {
    const text = properties.get(dav(name))?.text.trim() ?? ''
    return /^\d{1,16}$/.test(text) ? Number(text) : null
  }
  const [used, available] = [number('quota-used-bytes'), number('quota-available-bytes')]
  return { used, total: used === null || available === null ? null : used + available }
}

/** Returns the header for the modification time of a file that is stored: Nextcloud's developer manual, "Basic APIs". */
export function timeHeader(modifiedAt: Date | undefined): Record<string, string> {
  return modifiedAt ? { 'x-oc-mtime': String(Math.floor(modifiedAt.getTime() / 1000)) } : {}
}

/** Returns null where the server does not tell what has changed. */
export function syncTokenIn({ properties }: DavResource): string | null {
  return properties.get(dav('sync-token'))?.text.trim() || null
}

export function hasFileId({ properties }: DavResource): boolean {
  return properties.has(oc('fileid'))
}

function timeOf(text: string | null | undefined): Date | null {
  const time = new Date(text ?? '')
  return Number.isNaN(time.getTime()) ? null : time
}

const algorithms: Readonly<Record<string, { name: ChecksumAlgorithm; digits: number }>> = {
  MD5: { name: 'md5', digits: 32 },
  SHA1: { name: 'sha1', digits: 40 },
  SHA256: { name: 'sha256', digits: 64 },
}

/** Parses `SHA1:... MD5:... ADLER32:...`. */
function checksumsIn(text = ''): Facts['checksums'] {
  const found = text.split(/\s+/).flatMap(each => {
    const [name = '', hex = ''] = each.split(':')
    const algorithm = algorithms[name.toUpperCase()]
    const isValid = algorithm?.digits === hex.length && /^[0-9a-f]+$/i.test(hex)
    return algorithm && isValid ? [[algorithm.name, hex.toLowerCase()]] : []
  })
  return found.length > 0 ? Object.fromEntries(found) : undefined
}
