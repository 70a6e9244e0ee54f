import type { IncomingHttpHeaders } from 'node:http'
import type { Entry } from '../../contract.ts'

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
export const defaultType = 'application/octet-stream'

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

export function folderEntry(name: string, fileId: string): Entry {
  return { name, kind: 'directory', size: null, modifiedAt: null, etag: null, mimeType: null, fileId }
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

/** Headers that describe a new file. */
export interface FileHeaders {
  mimeType: string | undefined
  modifiedAt: Date | undefined
}

export function headersOf({ mimeType, modifiedAt }: FileHeaders): Record<string, string> {
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
