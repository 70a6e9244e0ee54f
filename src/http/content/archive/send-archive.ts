/**
 * Archives of several files. The items of a service enter, and the bytes of a ZIP archive leave.
 *
 * This file sends files and folders as a ZIP archive, which is written while it is sent. A list at its end names the files that
 * the archive lacks.
 */
import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import mime from 'mime'
import { formatPath, type StoragePath } from '../../../auth/path.ts'
import type { AppError } from '../../../errors.ts'
import {
  type Archive,
  type ArchiveItem,
  type ArchiveTop,
  contentDisposition,
  type Download,
  isLeftOut,
} from '../../../services/files/index.ts'
import { hijack } from '../../admission.ts'
import { cutResponse } from '../../connection/client-abort.ts'
import { isNotModified } from '../conditions.ts'
import { openCurrent } from '../file-content.ts'
import { type ByteSink, bytesWritten, write } from '../send-file.ts'
import type { Method } from './zip-records.ts'
import { ZipWriter } from './zip-writer.ts'

/** The maximum number of names to list; further ones are only counted. */
const maxNames = 1000
const title = '_left-out'
/** The names that the list can have: only ten, so that the memory for them does not grow with the archive. */
const titles = [`${title}.txt`, ...Array.from({ length: 9 }, (_, index) => `${title} (${index + 1}).txt`)]

/** Lists the files that an archive lacks in a text file at its end, so that nobody takes the archive for complete. */
class Omissions {
  readonly #prefix: string
  readonly #lines: string[] = []
  readonly #changed: string[] = []
  readonly #free = new Set(titles)
  #count = 0
  #changedCount = 0

  /** @param prefix the folder of the list with a slash at its end; empty for the top of the archive */
  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** Records a name in the archive, so that the list gets another one. */
  note(name: string): void {
    this.#free.delete(name.slice(this.#prefix.length))
  }

  add(name: string, { message }: AppError): void {
    this.#count++
    if (this.#lines.length < maxNames) this.#lines.push(`${name}: ${message}`)
  }

  /** Adds a file that is in the archive but changed while it was read, so it can mix two versions. */
  addChanged(name: string): void {
    this.#changedCount++
    if (this.#changed.length < maxNames) this.#changed.push(name)
  }

  /** Writes nothing if the archive is complete. */
  async write(zip: ZipWriter, signal: AbortSignal): Promise<void> {
    const lines = [
      ...section('Not in this archive:', this.#lines, this.#count),
      ...section('Changed while they were read, so they can mix two versions:', this.#changed, this.#changedCount),
    ]
    if (lines.length === 0) return
    const text = Buffer.from(lines.join('\n'))
    const file = { name: this.#name(), modifiedAt: new Date(), size: text.length, method: 'stored' } as const
    await zip.file(file, (sink, signal) => write(sink, text, signal), signal)
  }

  #name(): string {
    const [first = `${title} (${randomUUID()}).txt`] = this.#free
    return this.#prefix + first
  }
}

function section(title: string, lines: readonly string[], count: number): string[] {
  if (count === 0) return []
  const more = count - lines.length
  return [title, '', ...lines, ...(more > 0 ? [`and ${more} more`] : []), '']
}

/** Gives each entry at the top of an archive a name of its own, also on systems that ignore case. */
class TopNames {
  readonly #names = new Map<ArchiveTop, string>()
  readonly #taken = new Set<string>()

  of(top: ArchiveTop): string {
    const known = this.#names.get(top)
    if (known !== undefined) return known
    const name = this.#free(topName(top.name))
    this.#names.set(top, name)
    this.#taken.add(keyOf(name))
    return name
  }

  #free(name: string): string {
    const dot = name.lastIndexOf('.')
    const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
    for (let number = 0; ; number++) {
      const candidate = number === 0 ? name : `${stem} (${number})${ending}`
      if (!this.#taken.has(keyOf(candidate))) return candidate
    }
  }
}

function keyOf(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

const mimeType = 'application/zip'

/**
 * Sends files and folders as a ZIP archive that is created on the fly, so its length is unknown and it supports no ranges. One
 * file is open at a time.
 * @param signal aborts when the download must stop
 * @throws TOO_MANY_ARCHIVES, PRECONDITION_FAILED, and as `Files.list`
 */
export async function sendArchive(
  archive: Archive,
  request: FastifyRequest,
  reply: FastifyReply,
  signal: AbortSignal,
): Promise<null> {
  reply.headers({ 'Accept-Ranges': 'none', 'Cache-Control': 'private, no-cache', 'Content-Security-Policy': 'sandbox' })
  // Pages embed links. A request with a credential comes from a script of the same origin.
  if (request.viewer === null) reply.header('Cross-Origin-Resource-Policy', 'cross-origin')
  const isUnchanged = request.method !== 'POST' && isNotModified(request.headers, { etag: null, modifiedAt: null })
  reply.headers({
    'Content-Type': mimeType,
    'Content-Disposition': contentDisposition({ name: `${topName(archive.name)}.zip`, mimeType }, false),
  })
  if (isUnchanged || request.method === 'HEAD') {
    hijack(reply)
    reply.raw.writeHead(isUnchanged ? 304 : 200, reply.getHeaders() as Record<string, string>).end()
    return null
  }
  const items = archive.items(signal)
  // Until the headers are sent, a refusal is still a proper error response.
  const first = await items.next()
  hijack(reply)
  const response = reply.raw
  const zip = new ZipWriter(chunk => write(response, chunk, signal))
  try {
    response.writeHead(200, reply.getHeaders() as Record<string, string>)
    await writeArchive(zip, { archive, first, items }, signal)
    response.end()
    archive.ended(bytesWritten(response))
  } catch (error) {
    archive.ended(bytesWritten(response), signal.aborted ? signal.reason : error)
    // The directory of a ZIP file is at its end, so an incomplete archive does not open.
    cutResponse(reply, error, signal)
  } finally {
    await items.return()
    await zip.close()
  }
  return null
}

interface Source {
  archive: Archive
  first: IteratorResult<ArchiveItem, void>
  items: AsyncGenerator<ArchiveItem, void, undefined>
}

async function writeArchive(zip: ZipWriter, { archive, first, items }: Source, signal: AbortSignal): Promise<void> {
  const topNames = new TopNames()
  const nameOf = (top: ArchiveTop, path: StoragePath) => {
    const base = formatPath(top.location.path)
    const below = path === top.location.path ? '' : formatPath(path).slice(base === '/' ? 0 : base.length)
    return `${topNames.of(top)}${below.split('/').map(archivedName).join('/')}`
  }
  const omissions = new Omissions(archive.isFolder && !first.done ? `${topNames.of(first.value.top)}/` : '')
  for (let item = first; !item.done; item = await items.next()) {
    const { top, error } = item.value
    if (error) {
      omissions.add(nameOf(top, item.value.path), error)
      continue
    }
    const { location, entry } = item.value
    const name = nameOf(top, location.path)
    omissions.note(name)
    if (entry.kind === 'directory') await zip.folder(name, entry.modifiedAt)
    else await writeFile(zip, name, location, omissions, signal)
  }
  await omissions.write(zip, signal)
  await zip.end()
}

async function writeFile(
  zip: ZipWriter,
  name: string,
  location: Download['location'],
  omissions: Omissions,
  signal: AbortSignal,
): Promise<void> {
  const opened = await openCurrent(location, signal).catch(error => {
    if (!isLeftOut(error)) throw error
    omissions.add(name, error)
    return null
  })
  if (!opened) return
  const { entry, content } = opened
  const { size, modifiedAt } = entry
  try {
    const method = compressionFor(entry)
    const span = size === null ? null : { first: 0, last: size - 1 }
    const file = { name, modifiedAt, size, method }
    // A file that changes, such as a growing log, must not fail the whole archive.
    const onChange = () => omissions.addChanged(name)
    const send = (sink: ByteSink, signal: AbortSignal) => content.send(sink, span, signal, onChange)
    await zip.file(file, async (sink, signal) => (size === 0 ? undefined : send(sink, signal)), signal)
  } finally {
    await content.close()
  }
}

/** Windows reads a backslash as a separator, and control characters can control a terminal. */
const misread = /[\\\p{Cc}]/gu
/** A name that already contains such an encoding is escaped once more. */
const encoded = /%(?=(?:25)*(?:5C|[01][0-9A-F]|7F|[89][0-9A-F]))/g
const replaced = /[/\\\p{Cc}]/gu

/** Returns a name inside an archive. Characters that systems misread are percent-encoded, so that names stay distinct. */
function archivedName(name: string): string {
  return name.replace(encoded, '%25').replace(misread, character => {
    const code = character.codePointAt(0) ?? 0
    return `%${code.toString(16).toUpperCase().padStart(2, '0')}`
  })
}

/** Returns a name for the archive's top folder, from a name that need not be valid as a file name. */
function topName(name: string): string {
  const safe = name.replace(replaced, '_').trim()
  return /^\.{0,2}$/.test(safe) ? 'files' : safe
}

/** Bytes. Compressing a smaller file gains nothing. */
const minSize = 256
const compressible =
  /^(?:text\/|(?:application|image|model|message)\/(?:[\w.-]+\+)?(?:json|xml|yaml)\b|image\/(?:bmp|tiff|x-icon)$|font\/(?:ttf|otf)$)/
const alsoCompressible = new Set([
  'application/javascript',
  'application/msword',
  'application/rtf',
  'application/sql',
  'application/toml',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  'application/wasm',
  'application/x-httpd-php',
  'application/x-ndjson',
  'application/x-sh',
  'application/x-tar',
  'application/x-tex',
  'application/x-sqlite3',
  'audio/wav',
  'audio/x-wav',
])

/** Chooses by type, because most large files (images, video, archives, office documents) are already compressed. */
function compressionFor(file: { name: string; mimeType: string | null; size: number | null }): Method {
  if (file.size !== null && file.size < minSize) return 'stored'
  const type = (mime.getType(file.name) ?? file.mimeType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return compressible.test(type) || alsoCompressible.has(type) ? 'deflated' : 'stored'
}
