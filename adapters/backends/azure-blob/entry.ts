import type { IncomingHttpHeaders } from 'node:http'
import { controlCharacters } from '../../bases/cloud/names.ts'
import type { NewFile } from '../../bases/objects/driver.ts'
import { ObjectKeys } from '../../bases/objects/keys.ts'
import type { Entry, Traits } from '../../contract.ts'

/** The properties that Azure reports for a blob, in the headers of a response or in a listing. */
export interface Described {
  size: number
  etag: string | null
  lastModified: Date | null
  contentType: string | null
  /** In base64. */
  md5: string | null
  /** By name in lowercase. */
  metadata: Readonly<Record<string, string>>
  /** True for a folder: a directory of a hierarchical namespace, or the marker of a folder. */
  isFolder: boolean
}

/** Marks an empty blob as a folder, for the programs of Microsoft and for others. */
export const folderMark = 'hdi_isfolder'
/** The modification time of a file that is a copy, in the form of RFC 3339. rclone uses the same name. */
const timeKey = 'mtime'
/** The type that Azure reports for files without a type. */
const defaultType = 'application/octet-stream'

const metaPrefix = 'x-ms-meta-'

/** @param md5 the checksum of the whole blob, for a response that has another one or none */
export function describe(headers: IncomingHttpHeaders, size: number, md5?: string | null): Described {
  const metadata: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(metaPrefix)) metadata[name.slice(metaPrefix.length)] = String(value)
  }
  const resourceType = headers['x-ms-resource-type']
  return {
    size,
    etag: etagOf(headers.etag),
    lastModified: dateOf(headers['last-modified']),
    contentType: headers['content-type'] ?? null,
    md5: md5 === undefined ? (headers['content-md5']?.toString() ?? null) : md5,
    metadata,
    isFolder: isMarked(metadata) || resourceType === 'directory',
  }
}

export function isMarked(metadata: Readonly<Record<string, string>>): boolean {
  return metadata[folderMark]?.toLowerCase() === 'true'
}

export function fileEntry(name: string, fileId: string, blob: Described): Entry {
  const { size, etag, contentType, md5 } = blob
  return {
    name,
    kind: 'file',
    size,
    modifiedAt: keptTime(blob) ?? blob.lastModified,
    etag,
    mimeType: contentType && contentType !== defaultType ? contentType : null,
    fileId,
    ...(md5 && { checksums: { md5: Buffer.from(md5, 'base64').toString('hex') } }),
  }
}

/** Returns the time that the metadata has. */
export function keptTime({ metadata }: Pick<Described, 'metadata'>): Date | null {
  return dateOf(metadata[timeKey])
}

/** Removes the quotes. */
export function etagOf(quoted: string | undefined): string | null {
  return quoted?.replace(/^W\//, '').replaceAll('"', '') || null
}

export function dateOf(text: string | undefined): Date | null {
  const date = new Date(text ?? '')
  return Number.isNaN(date.getTime()) ? null : date
}

export function headersOf({ mimeType, modifiedAt }: NewFile): Record<string, string> {
  return {
    'x-ms-blob-content-type': mimeType ?? defaultType,
    ...timeHeader(modifiedAt),
  }
}

export function timeHeader(modifiedAt: Date | null | undefined): Record<string, string> {
  return modifiedAt ? { [`${metaPrefix}${timeKey}`]: modifiedAt.toISOString() } : {}
}

/** Returns the headers that keep metadata. */
export function metadataHeaders(metadata: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).map(([name, value]) => [metaPrefix + name, value]))
}

/** UTF-16 code units: https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata */
const maxKeyLength = 1024
/** The maximum number of names in a path, with and without a hierarchical namespace. */
const maxDepth = { flat: 254, hierarchical: 60 }
/** Blobs whose parts are not yet joined to a file: see uploads.ts. */
const stagingPrefix = '.stowage-upload-'

/** Maps the paths of a provider to the names of blobs in its container. */
export class Keys extends ObjectKeys {
  constructor(base: string, isHierarchical: boolean) {
    const depth = isHierarchical ? maxDepth.hierarchical : maxDepth.flat
    super(base, (names, key) => {
      const problem = names.map(problemOf).find(found => found !== undefined)
      if (problem !== undefined) return problem
      if (key.length > maxKeyLength) {
        return `The path is too long: with its prefix it can have at most ${maxKeyLength} characters.`
      }
      return key.split('/').length > depth ? `A path can have at most ${depth} names in this account.` : undefined
    })
  }

  /** @param id a UUID */
  staging(id: string): string {
    return stagingKey(this.base, id)
  }
}

/** @param id a UUID */
export function stagingKey(base: string, id: string): string {
  return `${base}${stagingPrefix}${id}`
}

/** Azure takes `\` for `/`, drops dots at the end of a name, and has no control characters and no U+E000 in names. */
export const nameTraits = {
  forbiddenInNames: `\\\ue000\ufffe\uffff${controlCharacters}`,
  forbiddenAtEndOfNames: '.',
} satisfies Partial<Traits>

function problemOf(name: string): string | undefined {
  // The host refuses these, too. Check again, so that a bug there cannot escape the prefix.
  if (name === '' || name.includes('/') || name.includes('\0') || !name.isWellFormed()) {
    return 'The path has an empty segment, or contains a NUL.'
  }
  return isStaging(name) ? 'Stowage uses such names for unfinished uploads.' : undefined
}

/** True for the name of a blob whose parts are not yet joined to a file. */
export function isStaging(name: string): boolean {
  return name.startsWith(stagingPrefix) && isUploadId(name.slice(stagingPrefix.length))
}

export function isUploadId(id: unknown): id is string {
  return typeof id === 'string' && /^[0-9a-f-]{36}$/.test(id)
}

/** True for a name that this adapter can read and write if its traits allow it. */
export function isName(name: string): boolean {
  return problemOf(name) === undefined
}

/** Encodes the name of a blob for a URL. */
export function encodeKey(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/')
}
