/** Files of Drive as entries: names, twins and export formats. */
import type { drive_v3 } from '@googleapis/drive'
import { folderEntry } from '../../bases/errors.ts'
import type { Entry } from '../../contract.ts'

export type DriveFile = drive_v3.Schema$File & { id: string; name: string; mimeType: string }

/**
 * A name in Drive can be any text. Names that are not valid in a path are escaped reversibly: `/` as U+FF0F, NUL as
 * U+2400, and the whole names `.` and `..` with U+FF0E. If a name contains one of these replacements, it gets U+201B in
 * front; each U+201B before a replacement is doubled.
 */
const quote = '\u201b'
const shownAs: Record<string, string> = { '/': '\uff0f', '\0': '\u2400' }
const storedAs: Record<string, string> = { '\uff0f': '/', '\u2400': '\0' }

/** Converts a name from Drive for a path. Returns undefined for names that cannot be converted: empty or not well-formed. */
export function toShown(stored: string): string | undefined {
  if (stored === '' || !stored.isWellFormed()) return undefined
  if (stored === '.' || stored === '..') return stored.replaceAll('.', '\uff0e')
  if (/^\u201b*\uff0e{1,2}$/.test(stored)) return quote + stored
  return stored.replace(/\u201b+[/\0\uff0f\u2400]?|[/\0\uff0f\u2400]/g, run => {
    const { quotes, last } = splitRun(run)
    return last === '' ? quotes : quotes + quotes + (shownAs[last] ?? quote + last)
  })
}

/** The inverse of `toShown`, for every valid name in a path. */
export function toStored(shown: string): string {
  if (shown === '\uff0e' || shown === '\uff0e\uff0e') return shown.replaceAll('\uff0e', '.')
  if (/^\u201b+\uff0e{1,2}$/.test(shown)) return shown.slice(1)
  return shown.replace(/\u201b+[\uff0f\u2400]?|[\uff0f\u2400]/g, run => {
    const { quotes, last } = splitRun(run)
    if (last === '') return quotes
    const kept = quote.repeat(quotes.length >> 1)
    return kept + (quotes.length % 2 === 0 ? (storedAs[last] ?? last) : last)
  })
}

/** Splits a match into its quotes and the character after them, which is empty if the match has only quotes. */
function splitRun(run: string): { quotes: string; last: string } {
  if (run.endsWith(quote)) return { quotes: run, last: '' }
  return { quotes: run.slice(0, -1), last: run.slice(-1) }
}

/**
 * The name in Drive of an upload whose folder does not exist yet. It has the file's own id, which no user-made name can
 * have.
 */
export function temporaryName(id: string): string {
  return `.stowage-upload-${id}`
}

/** Returns true while the file waits to be moved to its path. Until then it has no path. */
export function isTemporary({ id, name }: DriveFile): boolean {
  return name === temporaryName(id)
}

/**
 * Returns the name that a file has unless another file has it, too. Google's own documents get the ending of their
 * export.
 */
export function plainName(file: DriveFile): string | undefined {
  if (isTemporary(file)) return undefined
  const shown = toShown(file.name)
  return shown === undefined ? undefined : shown + extensionOf(file.mimeType)
}

/** Characters of an id in a twin's name: 48 bits. */
const shortId = 8

/** Returns the name of a file that is not the first of its plain name: `report (~1f8Kx_9Q).pdf`. */
export function twinName(file: DriveFile, plain: string): string {
  const dot = plain.lastIndexOf('.')
  const split = dot > 0 && !isFolder(file) ? dot : plain.length
  return `${plain.slice(0, split)} (~${file.id.slice(-shortId)})${plain.slice(split)}`
}

/** Splits a twin's name into the plain name and the end of the id. */
export function parseTwinName(name: string): { plain: string; idEnd: string } | undefined {
  const match = /^(.+) \(~([A-Za-z0-9_-]{8,})\)(\.[^.]*)?$/s.exec(name)
  return match ? { plain: `${match[1]}${match[3] ?? ''}`, idEnd: match[2] ?? '' } : undefined
}

/** Returns every name in Drive that an entry with this plain name can have. */
export function storedNames(plain: string): string[] {
  const endings = extensions.filter(ending => plain.endsWith(ending) && plain.length > ending.length)
  return [plain, ...endings.map(ending => plain.slice(0, -ending.length))].map(toStored)
}

export const folderType = 'application/vnd.google-apps.folder'
export const shortcutType = 'application/vnd.google-apps.shortcut'

export function isFolder(file: DriveFile): boolean {
  return file.mimeType === folderType
}

/** True for Google's own documents, which have no stored bytes. */
export function isDoc(file: DriveFile): boolean {
  return file.mimeType.startsWith('application/vnd.google-apps.') && !isFolder(file)
}

/** Sorts files of one plain name; the first one gets it. Files sort before documents, then older before younger ones. */
export function byRank(a: DriveFile, b: DriveFile): number {
  const older = (a.createdTime ?? '').localeCompare(b.createdTime ?? '')
  return Number(isDoc(a)) - Number(isDoc(b)) || older || (a.id < b.id ? -1 : Number(a.id > b.id))
}

/** Returns the file that a name in a path means. */
export function pick(files: readonly DriveFile[], name: string): DriveFile | undefined {
  const first = files.filter(file => plainName(file) === name).sort(byRank)[0]
  if (first) return first
  const twin = parseTwinName(name)
  return twin && files.find(file => file.id.endsWith(twin.idEnd) && plainName(file) === twin.plain)
}

const openXml = 'application/vnd.openxmlformats-officedocument'

/** The export formats of Google's own documents (developers.google.com/workspace/drive/api/guides/ref-export-formats). */
const exportFormats: Record<string, { mimeType: string; extension: string }> = {
  'application/vnd.google-apps.document': { mimeType: `${openXml}.wordprocessingml.document`, extension: '.docx' },
  'application/vnd.google-apps.spreadsheet': { mimeType: `${openXml}.spreadsheetml.sheet`, extension: '.xlsx' },
  'application/vnd.google-apps.presentation': {
    mimeType: `${openXml}.presentationml.presentation`,
    extension: '.pptx',
  },
  'application/vnd.google-apps.drawing': { mimeType: 'image/png', extension: '.png' },
  'application/vnd.google-apps.script': { mimeType: 'application/vnd.google-apps.script+json', extension: '.json' },
  'application/vnd.google-apps.vid': { mimeType: 'video/mp4', extension: '.mp4' },
}

/** Returns the type of a document's export; undefined for documents without an export: Forms, Maps, Sites. */
export function exportTypeOf(mimeType: string): string | undefined {
  return exportFormats[mimeType]?.mimeType
}

/** Returns the extension with its dot; the empty string for a file with stored bytes. */
export function extensionOf(mimeType: string): string {
  return exportFormats[mimeType]?.extension ?? ''
}

const extensions: readonly string[] = [...new Set(Object.values(exportFormats).map(format => format.extension))]

/** Unique in all of Drive, and the same for every account that the file is shared with. */
export const fileIdOf = (id: string) => `google-drive:${id}`

export function toEntry(name: string, file: DriveFile): Entry {
  const modifiedAt = file.modifiedTime ? new Date(file.modifiedTime) : null
  const fileId = fileIdOf(file.id)
  if (isFolder(file)) return { ...folderEntry(name, fileId), modifiedAt }
  // Two exports of one version differ, so they have no etag.
  if (isDoc(file)) {
    const mimeType = exportTypeOf(file.mimeType) ?? null
    return { name, kind: 'file', size: null, modifiedAt, etag: null, mimeType, fileId, isExport: true }
  }
  const checksums = {
    ...(file.md5Checksum && { md5: file.md5Checksum }),
    ...(file.sha1Checksum && { sha1: file.sha1Checksum }),
    ...(file.sha256Checksum && { sha256: file.sha256Checksum }),
  }
  return {
    name,
    kind: 'file',
    size: file.size ? Number(file.size) : null,
    modifiedAt,
    etag: etagOf(file),
    mimeType: file.mimeType,
    fileId,
    ...(Object.keys(checksums).length > 0 ? { checksums } : {}),
  }
}

/** A revision identifies the content and survives renames, moves and sharing. */
export function etagOf({ id, headRevisionId, md5Checksum, size }: DriveFile): string | null {
  const content = headRevisionId ?? (md5Checksum ? `${md5Checksum}-${size}` : undefined)
  return content === undefined ? null : `${id}.${content}`
}
