/** Reads parts of files: as text of whole characters, or as bytes. */
import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import { formatKeptId } from '../../../auth/id.ts'
import { needs } from '../../../auth/needs.ts'
import { formatPath } from '../../../auth/path.ts'
import { AppError } from '../../../errors.ts'
import { openContent } from '../../../http/content/file-content.ts'
import { type ByteSink, TruncatedContent } from '../../../http/content/send-file.ts'
import type { Download, FileEntry } from '../../../services/files/index.ts'
import { defineTool, hints, path, providerId } from '../tool.ts'

/** Bytes of one result, which a model has to read. */
const maxLength = 128 * 1024
/** Bytes. Less might contain no whole character, so that reading on would never end. */
const minLength = 4

export const readFile = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description: `Returns a part of a file, at most ${maxLength} bytes. Text must be UTF-8. Other files are refused as text: read them as BASE64 only if you need their bytes.`,
  annotations: hints.reads,
  needs: needs.read,
  audit: 'DOWNLOAD',
  showsData: true,
  input: z.strictObject({
    providerId,
    path,
    version: z.string().optional().describe('The ID of an earlier version, from list_versions'),
    offset: z.int().min(0).default(0).describe('The first byte'),
    length: z.int().min(minLength).max(maxLength).default(32_768).describe('Bytes'),
    encoding: z.enum(['UTF-8', 'BASE64']).default('UTF-8'),
  }),
  output: z.object({
    path: z.string(),
    size: z.number().nullable().describe('Bytes of the whole file'),
    mimeType: z.string().nullable(),
    etag: z.string().nullable().describe('Differs between parts if the file has changed'),
    offset: z.number(),
    length: z.number(),
    nextOffset: z.number().nullable().describe('Where the next part begins; null at the end'),
    encoding: z.enum(['UTF-8', 'BASE64']),
    content: z.string(),
  }),
  run: ({ offset, length, encoding, ...location }, { services, viewer, signal }) =>
    services.files.download(viewer, location, signal, { range: { offset, length } }, async (download, granted) => {
      const { entry, ended } = download
      if (entry.kind === 'directory') {
        throw new AppError('NOT_A_FILE', `"${formatPath(entry.path)}" is a folder: list it with list_folder.`)
      }
      try {
        const { bytes, isEnd } = await readPart(download, { offset, length }, granted)
        const part = encoding === 'BASE64' ? { skipped: 0, bytes } : wholeText(bytes, { isStart: offset === 0, isEnd })
        if (!part) throw notText(entry, location.version)
        const first = offset + part.skipped
        const next = first + part.bytes.length
        const content = part.bytes.toString(encoding === 'BASE64' ? 'base64' : 'utf8')
        ended(part.bytes.length)
        const { size, mimeType, etag } = entry
        return {
          path: formatPath(entry.path),
          size,
          mimeType,
          etag,
          offset: first,
          length: part.bytes.length,
          nextOffset: isEnd ? null : next,
          encoding,
          content,
        }
      } catch (error) {
        ended(0, granted.aborted ? granted.reason : error)
        throw error
      }
    }),
})

function notText({ providerId, path: parsed, size, mimeType }: FileEntry, version: string | undefined): AppError {
  const path = formatPath(parsed)
  const query = new URLSearchParams({ providerId, path })
  if (version !== undefined) query.set('version', formatKeptId({ id: version, providerId, path }))
  const facts = [mimeType ?? 'unknown type', ...(size === null ? [] : [`${size} bytes`])].join(', ')
  return new AppError(
    'NOT_TEXT',
    `The file is not text in UTF-8 (${facts}). Download it with the same key from the REST endpoint /api/download/proxy?${query}, or read it with the encoding BASE64.`,
  )
}

interface FilePart {
  bytes: Buffer
  /** Whether the file ends here. */
  isEnd: boolean
}

/**
 * Reads at most `length` bytes of a file into memory.
 * @throws RANGE_NOT_SATISFIABLE; UNAVAILABLE if the file changes meanwhile; as `openContent`
 */
async function readPart(
  download: Download,
  { offset, length }: { offset: number; length: number },
  signal: AbortSignal,
): Promise<FilePart> {
  const { size } = download.entry
  if (size !== null && offset > 0 && offset >= size) {
    throw new AppError('RANGE_NOT_SATISFIABLE', `The file has ${size} bytes, so no part of it begins at ${offset}.`)
  }
  if (size === 0) return { bytes: Buffer.alloc(0), isEnd: true }
  const span = size === null ? null : { first: offset, last: Math.min(offset + length, size) - 1 }
  const part = new PartSink(span ? 0 : offset, length)
  const content = await openContent(download, [span], signal)
  try {
    await content.send(part, span, signal)
  } catch (error) {
    if (error instanceof TruncatedContent) {
      throw new AppError('UNAVAILABLE', 'The file is being changed: try again.', { cause: error })
    }
    if (!part.isFull) throw error
  } finally {
    await content.close()
  }
  return { bytes: part.bytes, isEnd: size === null ? !part.isFull : offset + length >= size }
}

/** Keeps a part of the bytes that are written to it, and fails when it has all of them and there are more. */
class PartSink implements ByteSink {
  readonly #chunks: Buffer[] = []
  #skip: number
  #missing: number
  isFull = false

  constructor(skip: number, length: number) {
    this.#skip = skip
    this.#missing = length
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  write(chunk: Uint8Array, done: (error?: Error | null) => void): void {
    const start = Math.min(this.#skip, chunk.length)
    const end = Math.min(start + this.#missing, chunk.length)
    this.#skip -= start
    this.#missing -= end - start
    // The caller reuses the chunk.
    this.#chunks.push(Buffer.from(chunk.subarray(start, end)))
    this.isFull = end < chunk.length
    done(this.isFull ? new Error('The part is complete') : null)
  }
}

/** Bytes after the first one of the longest character. */
const maxContinuation = 3

/**
 * Returns the whole characters in a part of a text file, and how many bytes before them belong to another part. Returns null
 * if the bytes are not text in UTF-8.
 */
export function wholeText(
  bytes: Buffer,
  { isStart, isEnd }: { isStart: boolean; isEnd: boolean },
): { skipped: number; bytes: Buffer } | null {
  const skipped = isStart ? 0 : continuationsAt(bytes)
  const characters = bytes.subarray(skipped, isEnd ? undefined : wholeLength(bytes))
  // Almost all files with a NUL character are binary, even if they are valid UTF-8.
  return isUtf8(characters) && !characters.includes(0) ? { skipped, bytes: characters } : null
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000
}

/** Counts the bytes of a character that begins in the part before. */
function continuationsAt(bytes: Buffer): number {
  let count = 0
  while (count < maxContinuation && isContinuation(bytes[count])) count += 1
  return count
}

/** Returns the length without a character at the end that continues in the next part. */
function wholeLength(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(maxContinuation, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (isContinuation(byte)) continue
    return back < bytesOfCharacter(byte) ? bytes.length - back : bytes.length
  }
  return bytes.length
}

/** Returns the bytes of the character that begins with this byte: RFC 3629, section 3. */
function bytesOfCharacter(first: number): number {
  if (first >= 0b1111_0000) return 4
  if (first >= 0b1110_0000) return 3
  return first >= 0b1100_0000 ? 2 : 1
}
