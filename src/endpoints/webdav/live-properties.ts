/**
 * Properties that the server computes (RFC 4918, section 15, RFC 4331, and those of ownCloud that clients use), also for
 * folders that no back end has: the list of storages, and those above the base path of a credential.
 */
import { hash } from 'node:crypto'
import { root } from '../../auth/path.ts'
import { includesScope } from '../../auth/scopes.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { formatTag } from '../../http/content/conditions.ts'
import { escapeXml } from '../../http/xml.ts'
import type { EntryLock } from '../../services/entry-metadata/locks.ts'
import { contentType, entryId, type FileEntry } from '../../services/files/index.ts'
import { activeLock, supportedLock } from './lock.ts'
import { davNamespace, ocNamespace, type PropertyName, propertyName } from './multistatus.ts'
import { type DavOptions, hrefOf } from './request.ts'

/** The facts from which properties are computed. */
export interface PropertySource {
  entry: Pick<
    FileEntry,
    'kind' | 'size' | 'modifiedAt' | 'etag' | 'mimeType' | 'checksums' | 'fileId' | 'providerId' | 'path'
  >
  displayName: string
  viewer: Viewer
  /** The locks that hold for the entry. */
  locks: readonly EntryLock[]
  hrefOf(lock: EntryLock): string
  /** Null if it is unknown or was not requested. */
  quota: { used: number | null; available: number | null } | null
}

interface LiveProperty {
  /** Returns XML, or null if the entry does not have the property. */
  value(source: PropertySource): string | null
  /** Only if its name is requested: RFC 4331, section 2, and all that only some clients know. */
  isNamedOnly?: true
}

const dav = (name: string) => propertyName(davNamespace, name)
const oc = (name: string) => propertyName(ocNamespace, name)

export const quotaProperties: readonly PropertyName[] = [dav('quota-available-bytes'), dav('quota-used-bytes')]
export const lockDiscovery: PropertyName = dav('lockdiscovery')

const isFolder = ({ entry }: PropertySource) => entry.kind === 'directory'
const number = (value: number | null | undefined) => (value == null ? null : String(value))

export const liveProperties: ReadonlyMap<PropertyName, LiveProperty> = new Map<PropertyName, LiveProperty>([
  [dav('resourcetype'), { value: source => (isFolder(source) ? '<D:collection/>' : '') }],
  [dav('displayname'), { value: ({ displayName }) => escapeXml(displayName) }],
  [dav('getcontentlength'), { value: ({ entry }) => number(entry.size) }],
  [
    dav('getcontenttype'),
    { value: source => (isFolder(source) ? null : escapeXml(contentType(source.entry.mimeType))) },
  ],
  [dav('getetag'), { value: ({ entry }) => (entry.etag === null ? null : escapeXml(formatTag(entry.etag))) }],
  [dav('getlastmodified'), { value: ({ entry }) => entry.modifiedAt?.toUTCString() ?? null }],
  [dav('supportedlock'), { value: () => supportedLock }],
  [lockDiscovery, { value: ({ locks, hrefOf }) => locks.map(lock => activeLock(lock, hrefOf(lock))).join('') }],
  [dav('quota-available-bytes'), { value: ({ quota }) => number(quota?.available), isNamedOnly: true }],
  [dav('quota-used-bytes'), { value: ({ quota }) => number(quota?.used), isNamedOnly: true }],
  [oc('id'), { value: ({ entry }) => fileId(entry), isNamedOnly: true }],
  [oc('fileid'), { value: ({ entry }) => fileId(entry), isNamedOnly: true }],
  [oc('size'), { value: ({ entry }) => number(entry.size), isNamedOnly: true }],
  [oc('permissions'), { value: permissions, isNamedOnly: true }],
  [oc('checksums'), { value: checksums, isNamedOnly: true }],
])

/** The names of the properties that a request for all of them returns. */
export const namesOfAll: readonly PropertyName[] = [...liveProperties]
  .filter(([, { isNamedOnly }]) => !isNamedOnly)
  .map(([name]) => name)

/** Identifies the stored object, and without that its path. The id of an adapter can contain an address, so it is hashed. */
function fileId(entry: PropertySource['entry']): string {
  const id = entry.fileId === null ? entryId(entry) : entry.fileId
  return BigInt(`0x${hash('sha256', `${entry.providerId} ${id}`, 'hex').slice(0, 15)}`).toString()
}

/** https://doc.owncloud.com: G read, D delete, N rename, V move, W write, CK create in a folder. */
function permissions(source: PropertySource): string {
  if (!includesScope(source.viewer.scope, 'write')) return 'G'
  return isFolder(source) ? 'GDNVCK' : 'GDNVW'
}

const algorithms = { sha1: 'SHA1', md5: 'MD5', sha256: 'SHA256' } as const

function checksums({ entry }: PropertySource): string | null {
  const known = Object.entries(algorithms).flatMap(([algorithm, name]) => {
    const hex = entry.checksums[algorithm as keyof typeof algorithms]
    return hex === undefined ? [] : `${name}:${hex}`
  })
  return known.length === 0 ? null : `<oc:checksum>${known.join(' ')}</oc:checksum>`
}

export interface VirtualFolder extends Pick<FileEntry, 'providerId' | 'path' | 'name'> {
  href: string
}

/** Returns `/dav/` itself, then the storages that the viewer can access. @throws SCOPE_REQUIRED */
export async function listStorages(viewer: Viewer | null, options: DavOptions): Promise<VirtualFolder[]> {
  const records = await options.services.providers.list(viewer)
  return [{ id: '', slug: '', name: 'Stowage' }, ...records].map(({ id, slug, name }) => ({
    providerId: id,
    path: root,
    name,
    href: hrefOf(options, { slug, path: '/' }, true),
  }))
}

export function virtualSource({ providerId, path, name }: VirtualFolder, viewer: Viewer): PropertySource {
  const unknown = { size: null, modifiedAt: null, etag: null, mimeType: null, checksums: {}, fileId: null }
  return {
    entry: { kind: 'directory', providerId, path, ...unknown },
    displayName: name,
    viewer,
    locks: [],
    hrefOf: () => '',
    quota: null,
  }
}
