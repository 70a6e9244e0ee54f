import type { FastifyReply, FastifyRequest } from 'fastify'
import { formatPath } from '../../auth/path.ts'
import {
  type ArchiveItem,
  archiveItems,
  contentDisposition,
  type Download,
  isLeftOut,
} from '../../services/files/index.ts'
import { isNotModified } from '../conditions.ts'
import { compressionFor } from './archive-compression.ts'
import { LeftOut } from './archive-left-out.ts'
import { openCurrent } from './content.ts'
import { cutDownload } from './cut-download.ts'
import { type ByteSink, bytesWritten, write } from './send-file.ts'
import { archivedName, topName } from './zip/names.ts'
import { ZipWriter } from './zip/writer.ts'

const mimeType = 'application/zip'

/**
 * A folder as a ZIP file that is made while it is sent: its length is not known before, and no part of it can be asked
 * for by itself. One file is open at a time.
 * @param signal of the whole download
 * @throws as `Files.list`, PRECONDITION_FAILED
 */
export async function answerArchive(
  found: Download,
  request: FastifyRequest,
  reply: FastifyReply,
  signal: AbortSignal,
): Promise<null> {
  const top = topName(found.name)
  reply.headers({ 'Accept-Ranges': 'none', 'Cache-Control': 'private, no-cache', 'Content-Security-Policy': 'sandbox' })
  // A link is made to be put into a page; with a credential only one's own scripts ask.
  if (request.viewer === null) reply.header('Cross-Origin-Resource-Policy', 'cross-origin')
  const isKnown = isNotModified(request.headers, { etag: null, modifiedAt: null })
  reply.headers({
    'Content-Type': mimeType,
    'Content-Disposition': contentDisposition({ name: `${top}.zip`, mimeType }, false),
  })
  if (isKnown || request.method === 'HEAD') {
    reply.hijack()
    reply.raw.writeHead(isKnown ? 304 : 200, reply.getHeaders() as Record<string, string>).end()
    return null
  }
  const items = archiveItems(found.location, signal)
  // Its refusal is still an answer.
  const first = await items.next()
  reply.hijack()
  const response = reply.raw
  const zip = new ZipWriter(chunk => write(response, chunk, signal))
  try {
    response.writeHead(200, reply.getHeaders() as Record<string, string>)
    await writeArchive(zip, { found, top, first, items }, signal)
    response.end()
    found.ended(bytesWritten(response))
  } catch (error) {
    found.ended(bytesWritten(response), signal.aborted ? signal.reason : error)
    // The end of an archive lists what is in it: one that was cut does not open as if it were whole.
    cutDownload(request, response, error, signal)
  } finally {
    await items.return()
    await zip.close()
  }
  return null
}

interface Source {
  found: Download
  top: string
  first: IteratorResult<ArchiveItem, void>
  items: AsyncGenerator<ArchiveItem, void, undefined>
}

async function writeArchive(zip: ZipWriter, { found, top, first, items }: Source, signal: AbortSignal): Promise<void> {
  const base = formatPath(found.entry.path)
  const nameOf = (path: string) => {
    const below = formatPath(path as typeof found.entry.path).slice(base === '/' ? 0 : base.length)
    return `${top}${below.split('/').map(archivedName).join('/')}`
  }
  const leftOut = new LeftOut(top)
  await zip.folder(top, found.entry.modifiedAt)
  for (let item = first; !item.done; item = await items.next()) {
    const { location, entry, error } = item.value
    if (error) {
      leftOut.add(nameOf(item.value.path), error)
      continue
    }
    const name = nameOf(location.path)
    leftOut.note(name)
    if (entry.kind === 'directory') await zip.folder(name, entry.modifiedAt)
    else await writeFile(zip, name, location, leftOut, signal)
  }
  await leftOut.write(zip, signal)
  await zip.end()
}

async function writeFile(
  zip: ZipWriter,
  name: string,
  location: Download['location'],
  leftOut: LeftOut,
  signal: AbortSignal,
): Promise<void> {
  const opened = await openCurrent(location, signal).catch(error => {
    if (!isLeftOut(error)) throw error
    leftOut.add(name, error)
    return null
  })
  if (!opened) return
  const { entry, content } = opened
  const { size, modifiedAt } = entry
  try {
    const method = compressionFor(entry)
    const span = size === null ? null : { first: 0, last: size - 1 }
    const file = { name, modifiedAt, size, method }
    // A log that grows is no reason to have none of the folder.
    const onChange = () => leftOut.addChanged(name)
    const send = (sink: ByteSink, signal: AbortSignal) => content.send(sink, span, signal, onChange)
    await zip.file(file, async (sink, signal) => (size === 0 ? undefined : send(sink, signal)), signal)
  } finally {
    await content.close()
  }
}
