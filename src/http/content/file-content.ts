/** Sends the bytes of a file, from the local disk or from a back end. */
import { addAbortSignal, type Readable } from 'node:stream'
import type { ByteRange } from '../../../adapters/contract.ts'
import { AppError } from '../../errors.ts'
import { openFile } from '../../services/files/content.ts'
import type { Download } from '../../services/files/index.ts'
import type { OpenFile, ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { Span } from './conditions.ts'
import { type ByteSink, entryVersion, fileVersion, sendFile, TruncatedContent, write } from './send-file.ts'

export interface Content {
  /**
   * @param span null sends all of a file whose size is unknown
   * @param onChange is called if a file on disk changed meanwhile; without it, sending fails
   * @throws TruncatedContent, the signal's reason
   */
  send(sink: ByteSink, span: Span | null, signal: AbortSignal, onChange?: () => void): Promise<void>
  close(): Promise<void>
  /** All bytes of the file, if they are in memory. */
  readonly bytes?: Uint8Array
}

/**
 * Opens the version that the entry describes, unless it is open already.
 * @param spans the ranges to send; the first is requested from the back end at once, while an error response is still
 * possible
 * @throws PRECONDITION_FAILED if the file has changed since
 */
export async function openContent(
  download: Download,
  spans: readonly [Span | null, ...(Span | null)[]],
  signal: AbortSignal,
): Promise<Content> {
  const { entry, location, opened } = download
  if (opened?.kind === 'bytes') return bytesContent(opened.bytes)
  if (opened?.kind === 'file') return await fileContent(opened)
  if (opened) return await openStream(download, spans[0], signal)
  const version = entry.etag === null ? {} : { ifMatch: entry.etag }
  const file = await location.openFile(signal, version)
  if (!file) return openStream(download, spans[0], signal)
  if (!isSame(file.entry, entry)) {
    await file.handle.close()
    throw changed()
  }
  return await fileContent(file)
}

/** Opens the current version in one call. @throws as `ReadLocation.read` */
export async function openCurrent(
  location: ReadLocation,
  signal: AbortSignal,
): Promise<{ entry: CheckedEntry; content: Content }> {
  const file = await openFile(location, signal)
  const { entry } = file
  if (file.kind === 'bytes') return { entry, content: bytesContent(file.bytes) }
  if (file.kind === 'file') return { entry, content: await fileContent(file) }
  const { body } = file
  return {
    entry,
    content: {
      send: (sink, span, signal) => sendStream(sink, body, span && span.last - span.first + 1, signal),
      close: async () => void body.destroy(),
    },
  }
}

function bytesContent(bytes: Uint8Array): Content {
  return {
    bytes,
    send: (sink, span, signal) => write(sink, span ? bytes.subarray(span.first, span.last + 1) : bytes, signal),
    async close() {},
  }
}

async function fileContent({ handle, entry }: OpenFile): Promise<Content> {
  const openVersion = async () => entryVersion(entry) ?? (await fileVersion(handle))
  const version = await openVersion().catch(async error => {
    await handle.close()
    throw error
  })
  return {
    async send(sink, span, signal, onChange) {
      if (!span) throw new Error('A file on disk has a size')
      await sendFile(sink, { handle, version }, span, signal, onChange)
    },
    close: () => handle.close(),
  }
}

async function openStream(
  { entry, location, opened: known }: Download,
  first: Span | null,
  signal: AbortSignal,
): Promise<Content> {
  const read = async (span: Span | null) => {
    const version = entry.etag === null ? {} : { ifMatch: entry.etag }
    const range = span && { range: { offset: span.first, length: span.last - span.first + 1 } }
    const result = await location.read(signal, { ...version, ...range })
    if (isSame(result.entry, entry)) return result.body
    result.body.destroy()
    throw changed()
  }
  const isKnown = known?.kind === 'stream' && contains(known.range, first, entry.size)
  let opened: Readable | null = isKnown ? known.body : await read(first)
  return {
    async send(sink, span, signal) {
      const body = opened ?? (await read(span))
      opened = null
      await sendStream(sink, body, span && span.last - span.first + 1, signal)
    },
    async close() {
      opened?.destroy()
    },
  }
}

/** Sends exactly `length` bytes. @throws TruncatedContent, the signal's reason */
async function sendStream(sink: ByteSink, body: Readable, length: number | null, signal: AbortSignal): Promise<void> {
  let sent = 0
  for await (const part of addAbortSignal(signal, body)) {
    // The length of a string counts UTF-16 code units, not bytes.
    const chunk = typeof part === 'string' ? Buffer.from(part) : part
    if (!(chunk instanceof Uint8Array)) throw new TruncatedContent('The back end sent something other than bytes')
    sent += chunk.length
    if (length !== null && sent > length) break
    await write(sink, chunk, signal)
  }
  if (length !== null && sent !== length)
    throw new TruncatedContent(`The back end sent ${sent} bytes instead of ${length}`)
}

/** Returns whether a body that was requested with this range has exactly the bytes of the span. */
function contains(range: ByteRange | undefined, span: Span | null, size: number | null): boolean {
  if (!span || size === null) return range === undefined
  const { offset, length = size } = range ?? { offset: 0 }
  return span.first === offset && span.last === Math.min(offset + length, size) - 1
}

function isSame(a: Download['entry'] | { etag: string | null; size: number | null }, b: Download['entry']): boolean {
  return a.etag === b.etag && a.size === b.size
}

function changed(): AppError {
  return new AppError('PRECONDITION_FAILED', 'The file changed during the request.')
}
