/** Entries that adapters may use instead of looking again, because the host has seen them just now. */
import { EventEmitter } from 'node:events'
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type {
  ChecksumAlgorithm,
  Entry,
  ListPage,
  NativeVersion,
  Quota,
  Traits,
  VersionPage,
} from '../../adapters/contract.ts'
import { isName, isReservedName, isWithin, parsePath, type StoragePath, trashFolder } from '../auth/path.ts'
import { AppError } from '../errors.ts'

/** An entry that an adapter returned, after validation. */
export type CheckedEntry = Readonly<Required<Omit<Entry, 'checksums' | 'fileId' | 'contentTag'>>> & {
  readonly contentTag?: string
  readonly checksums: Readonly<Partial<Record<ChecksumAlgorithm, string>>>
  /** Identifies the stored object, for comparison only. It may contain the back end's address, so it is never shown. */
  readonly fileId: string | null
}

/** A file that was read at once, after validation. */
export interface SmallContent {
  entry: CheckedEntry
  bytes: Uint8Array
}

/** The maximum number of characters, from the contract. */
const maxCursorLength = 1024
/** The maximum number of characters, from the contract. */
const maxFileIdLength = 2048
const etagPattern = /^[\x21\x23-\x7e]{1,256}$/
const mimePattern = /^[\w.+-]{1,127}\/[\w.+-]{1,127}(?:;.{0,200})?$/
const hexPattern = /^[0-9a-f]{8,128}$/
const algorithms: readonly ChecksumAlgorithm[] = ['md5', 'sha1', 'sha256', 'crc32c']

/**
 * Validates an entry. Drops malformed metadata (etag, type, checksums, time, id), and rejects a malformed kind or size.
 * @throws BACK_END_FAULT
 */
export function checkEntry(entry: Entry, name: string): CheckedEntry {
  const { kind, size, modifiedAt, etag, contentTag, mimeType, fileId } = entry
  if (kind !== 'file' && kind !== 'directory') throw fault('an entry of an unknown kind')
  const isFile = kind === 'file'
  requireSize(size)
  return {
    name,
    kind,
    size: isFile ? size : null,
    modifiedAt: timeOrNull(modifiedAt),
    etag: isFile && typeof etag === 'string' && etagPattern.test(etag) ? etag : null,
    ...(isFile && typeof contentTag === 'string' && etagPattern.test(contentTag) && { contentTag }),
    mimeType: isFile && typeof mimeType === 'string' && mimePattern.test(mimeType) ? mimeType : null,
    checksums: isFile && entry.checksums ? checkedChecksums(entry.checksums) : noChecksums,
    fileId: typeof fileId === 'string' && fileId !== '' && fileId.length <= maxFileIdLength ? fileId : null,
    isExport: isFile && entry.isExport === true,
  }
}

const noChecksums: CheckedEntry['checksums'] = Object.freeze({})

function checkedChecksums(checksums: NonNullable<Entry['checksums']>): CheckedEntry['checksums'] {
  return Object.fromEntries(
    algorithms.flatMap(algorithm => {
      const hex = checksums[algorithm]
      return typeof hex === 'string' && hexPattern.test(hex) ? [[algorithm, hex]] : []
    }),
  )
}

/** @throws BACK_END_FAULT */
function requireSize(size: number | null): void {
  if (size !== null && !(Number.isSafeInteger(size) && size >= 0)) throw fault('an invalid size')
}

function timeOrNull(time: unknown): Date | null {
  return time instanceof Date && !Number.isNaN(time.getTime()) ? time : null
}

/**
 * Validates a page of a listing. Omits the folder of deleted entries and, with a warning, entries whose names cannot be part of
 * a path.
 * @throws BACK_END_FAULT
 */
export function checkPage(
  page: ListPage,
  request: { limit: number; cursor: string | null },
  warn: (message: string) => void,
): { entries: CheckedEntry[]; cursor: string | null } {
  if (!Array.isArray(page.entries) || page.entries.length > request.limit) throw fault('a page that is too long')
  const shown = page.entries.filter(({ name }) => typeof name !== 'string' || !isReservedName(name))
  const entries = shown.filter(({ name }) => isName(name)).map(entry => checkEntry(entry, entry.name))
  const omitted = shown.length - entries.length
  if (omitted > 0) warn(`Omitted from a listing, because their names cannot be part of a path: ${omitted}.`)
  return { entries, cursor: checkCursor(page.cursor, request.cursor) }
}

/** @throws BACK_END_FAULT */
function checkCursor(cursor: string | null = null, requested: string | null): string | null {
  if (cursor !== null && (typeof cursor !== 'string' || cursor === '' || cursor.length > maxCursorLength)) {
    throw fault('a malformed cursor')
  }
  if (cursor !== null && cursor === requested) throw fault('the cursor of the request as the next one')
  return cursor
}

/** A page of the versions that a back end keeps by itself. */
export interface CheckedVersions {
  versions: readonly Required<Omit<NativeVersion, 'replacedAt'> & { replacedAt: Date | null }>[]
  cursor: string | null
}

/** The maximum number of characters, from the contract. */
const maxVersionId = 1024

/** Validates a page of versions. Drops malformed metadata, and rejects a malformed id or size. @throws BACK_END_FAULT */
export function checkVersions(page: VersionPage, request: { limit: number; cursor: string | null }): CheckedVersions {
  if (!Array.isArray(page?.versions) || page.versions.length > request.limit) throw fault('a page that is too long')
  const versions = page.versions.map(({ id, size, modifiedAt, replacedAt, etag }: NativeVersion) => {
    if (typeof id !== 'string' || id === '' || id.length > maxVersionId || !id.isWellFormed()) {
      throw fault('an invalid id of a version')
    }
    requireSize(size)
    const tag = typeof etag === 'string' && etagPattern.test(etag) ? etag : null
    return { id, size, modifiedAt: timeOrNull(modifiedAt), replacedAt: timeOrNull(replacedAt), etag: tag }
  })
  return { versions, cursor: checkCursor(page.cursor, request.cursor) }
}

/** Leaves out what cannot be a path, and the reserved folder. @throws BACK_END_FAULT */
export function checkDeleted(
  page: { paths: unknown; cursor?: string } | undefined,
  { limit, cursor, within }: { limit: number; cursor: string | null; within: StoragePath },
): { paths: StoragePath[]; cursor: string | null } {
  const { paths, cursor: next } = page ?? {}
  if (!Array.isArray(paths) || paths.length > limit) throw fault('a page that is too long')
  const valid = paths.flatMap((path: unknown) => {
    if (typeof path !== 'string') throw fault('a path that is no text')
    const parsed = pathOrNull(path)
    return parsed === null || !isWithin(parsed, within) || isWithin(parsed, trashFolder) ? [] : [parsed]
  })
  return { paths: valid, cursor: checkCursor(next, cursor) }
}

function pathOrNull(path: string): StoragePath | null {
  try {
    return parsePath(`/${path}`)
  } catch {
    return null
  }
}

/** @throws BACK_END_FAULT */
export function checkQuota(quota: Quota | undefined): Quota {
  if (typeof quota !== 'object' || quota === null) throw fault('no quota')
  const { used, total } = quota
  const bytes = (value: unknown) => (Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : null)
  return { used: bytes(used), total: bytes(total) }
}

/** @throws BACK_END_FAULT */
export function checkBody(body: unknown): Readable {
  if (!(body instanceof Readable)) throw fault('a body that is not a stream')
  // An abort may fail the body before it is read. Without a listener, the error would end the process.
  return body.on('error', () => {})
}

/** @throws BACK_END_FAULT */
export function checkSmallFile(
  file: { entry: Entry; bytes: Uint8Array } | null,
  request: { name: string; maxBytes: number },
): SmallContent | null {
  if (file === null) return null
  if (typeof file !== 'object' || !(file.bytes instanceof Uint8Array)) throw fault('neither a small file nor null')
  const { entry, bytes } = file
  const checked = checkEntry(entry, request.name)
  if (checked.kind !== 'file' || checked.size !== bytes.length || bytes.length > request.maxBytes) {
    throw fault(`${bytes.length} bytes as a small file of ${checked.size}`)
  }
  return { entry: checked, bytes }
}

/** @throws BACK_END_FAULT */
export function checkCopies(
  copies: readonly (Entry | null)[] | undefined,
  names: readonly string[],
): (CheckedEntry | null)[] {
  if (!Array.isArray(copies) || copies.length !== names.length) throw fault('another number of copies than of names')
  return names.map((name, index) => {
    const copy: Entry | null | undefined = copies[index]
    if (copy === null) return null
    if (typeof copy !== 'object' || copy.kind !== 'file') throw fault('a copy that is neither a file nor null')
    return checkEntry(copy, name)
  })
}

/** @throws BACK_END_FAULT */
export function checkHandle(handle: FileHandle): FileHandle & EventEmitter {
  const isHandle = handle instanceof EventEmitter && typeof handle.read === 'function'
  if (!isHandle || typeof handle.close !== 'function') throw fault('an invalid file handle')
  return handle
}

/** A request that the back end accepts without credentials, with exactly these headers. */
export interface Presigned {
  url: URL
  headers: Readonly<Record<string, string>>
}

/** @throws BACK_END_FAULT */
export function checkPresigned(link: unknown): Presigned {
  const { url, headers = {} } = Object(link)
  if (!(url instanceof URL) || !/^https?:$/.test(url.protocol)) throw fault('an invalid link')
  const texts = Object.entries(Object(headers)).map(([name, value]) => [name, String(value)] as const)
  return { url, headers: Object.fromEntries(texts) }
}

/** Returns the error for an invalid result of an adapter; `what` appears in the log only. */
export function fault(what: string): AppError {
  return new AppError('BACK_END_FAULT', undefined, { cause: new Error(`The adapter returned ${what}.`) })
}

/** Milliseconds, from the contract. */
const freshness = 2_000

const seenAt = new WeakMap<CheckedEntry, number>()

/** @param askedAt when the call began that returned the entry, by `performance.now` */
export function noteSeen<E extends CheckedEntry>(entry: E, askedAt: number): E {
  seenAt.set(entry, askedAt)
  return entry
}

/** Returns the option `entry` of an adapter's method, unless the entry is too old. */
export function known(seen: CheckedEntry | undefined): { entry?: Entry } {
  if (!seen) return {}
  const askedAt = seenAt.get(seen) ?? Number.NEGATIVE_INFINITY
  return performance.now() - askedAt < freshness ? { entry: toEntry(seen) } : {}
}

/** Returns the entry as the adapter returned it. */
export function toEntry({ fileId, ...facts }: CheckedEntry): Entry {
  return { ...facts, ...(fileId !== null && { fileId }) }
}

/** The times that the contract allows for `write`, in milliseconds: 1970 to 2099. */
const firstAfter = Date.UTC(2100, 0)

/** Returns the modification time to give to a copy or an upload, which some back ends store. */
export function timeToKeep({ modifiedAt }: Pick<CheckedEntry, 'modifiedAt'>): Date | undefined {
  const isAllowed = modifiedAt !== null && modifiedAt.getTime() >= 0 && modifiedAt.getTime() < firstAfter
  return isAllowed ? modifiedAt : undefined
}

/** Returns whether a copy at this location has the modification time of the file. */
export function keepsTime(target: { traits: Pick<Traits, 'keepsModifiedAt'> }, file: CheckedEntry): boolean {
  return target.traits.keepsModifiedAt === true && timeToKeep(file) !== undefined
}
