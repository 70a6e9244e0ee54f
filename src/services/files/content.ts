/** Opens the content of a file, names its type and disposition for clients, and hashes it. */
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { create } from 'content-disposition'
import type { ByteRange } from '../../../adapters/contract.ts'
import { AppError, type Reason } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { Archive, ArchiveItem } from './archive.ts'
import type { FileEntry } from './entry.ts'

/** The size of the largest file that is read into memory at once, in bytes. */
export const smallBytes = 64 * 1024

/**
 * The content of a file: all of its bytes, an open file of this machine, or the stream of a back end. Dispose of it when it is
 * sent.
 */
export type OpenedFile = AsyncDisposable & { entry: CheckedEntry } & (
    | { kind: 'bytes'; bytes: Uint8Array }
    | { kind: 'file'; handle: FileHandle }
    | {
        kind: 'stream'
        body: Readable
        /** The part of the file that the body contains; undefined for all of it. */
        range: ByteRange | undefined
      }
  )

/**
 * Opens the current version of a file.
 * @param options.range what to request from a back end that streams; any other file is opened as a whole
 * @throws as `ReadLocation.read`
 */
export async function openFile(
  location: ReadLocation,
  signal: AbortSignal,
  { range, isLookup = false }: { range?: ByteRange | undefined; isLookup?: boolean } = {},
): Promise<OpenedFile> {
  const smallFile = await location.readSmall(signal, smallBytes)
  if (smallFile) return { kind: 'bytes', ...smallFile, [Symbol.asyncDispose]: async () => {} }
  const file = await location.openFile(signal, { isLookup })
  if (file) return { kind: 'file', ...file, [Symbol.asyncDispose]: () => file.handle.close() }
  const { body, entry } = await location.read(signal, { isLookup, ...(range && { range }) })
  return { kind: 'stream', body, entry, range, [Symbol.asyncDispose]: async () => void body.destroy() }
}

/** Opens a file instead of looking at its entry first, which takes one call of the back end less. */
export interface OpenFirst {
  /** The part of the file that will be sent. Default: all of it. */
  range?: ByteRange | undefined
}

/** Errors after which the entry decides: that of a folder, the size of a file without this range, another version. */
const needEntry: ReadonlySet<Reason> = new Set(['NOT_A_FILE', 'RANGE_NOT_SATISFIABLE', 'PRECONDITION_FAILED'])

/** Opens a file. Returns null if its entry has to be looked up. @throws as `ReadLocation.read` */
export async function openUnlessOther(
  location: ReadLocation,
  signal: AbortSignal,
  { range }: OpenFirst,
): Promise<OpenedFile | null> {
  try {
    return await openFile(location, signal, { range, isLookup: true })
  } catch (error) {
    if (error instanceof AppError && needEntry.has(error.reason)) return null
    throw error
  }
}

const generic = 'application/octet-stream'
const safeToShow = /^(?:image\/(?!svg)[\w.-]+|audio\/[\w.-]+|video\/[\w.-]+|text\/plain|application\/pdf)$/
/** RFC 9110, section 8.3.1. A comma outside quotes starts another type, and browsers use the last one. */
const mediaType =
  /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?:[\t ]*;[\t ]*[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[ !#-[\]-~]*"))*$/
const controlCharacter = /\p{Cc}/gu

export function isMediaType(text: string): boolean {
  return mediaType.test(text)
}

export function contentType(mimeType: string | null): string {
  return mimeType !== null && isMediaType(mimeType) ? mimeType : generic
}

/** RFC 6266. Inline only for types that cannot run script. */
export function contentDisposition(file: { name: string; mimeType: string | null }, inline: boolean): string {
  const type = inline && isSafeToShow(file.mimeType) ? 'inline' : 'attachment'
  return create(file.name.replace(controlCharacter, '_'), { type })
}

function isSafeToShow(mimeType: string | null): boolean {
  const essence = contentType(mimeType).split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return safeToShow.test(essence)
}

/** Returns the SHA-256 of a body. @param onChunk called before the next chunk is read */
export async function sha256Of(
  body: AsyncIterable<Buffer>,
  onChunk: (bytes: number) => Promise<unknown> | undefined = () => undefined,
): Promise<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of body) {
    hash.update(chunk)
    await onChunk(chunk.length)
  }
  return hash.digest()
}

/** A file or folder that may be read. */
export interface Download {
  entry: FileEntry
  location: ReadLocation
  /** The content of the file, if it was opened to find the entry. */
  opened: OpenedFile | null
  /** The entry's name; the provider's name for a root, which has none. */
  name: string
  /** Lists a folder and everything below it, as `Archive.items`. */
  items(signal: AbortSignal): AsyncGenerator<ArchiveItem, void, undefined>
  /** Call this once with the number of bytes sent and the error that interrupted it, for the audit log. */
  ended(bytes: number, error?: unknown): void
}

/** Consumes a download. The signal aborts with an AppError when the download is no longer allowed. */
export type UseDownload<T, D extends Download = Download> = (download: D, signal: AbortSignal) => Promise<T>

export type UseArchive<T> = (archive: Archive, signal: AbortSignal) => Promise<T>
