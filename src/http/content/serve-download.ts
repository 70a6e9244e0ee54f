/**
 * Files in the messages of HTTP, for all endpoints. The download of a service enters, and a response leaves. The body of a
 * request enters, and the content of a file leaves to a service.
 *
 * This file sends a file as the response to a request: through this server, or by the proxy in front of it (`X-Accel-Redirect`,
 * `X-Sendfile`). Stowage decides who may read the file; the proxy opens the path again.
 */
import { lstat, readlink } from 'node:fs/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import {
  contentDisposition,
  contentType,
  type Download,
  type FileEntry,
  type OpenFirst,
  type UseDownload,
} from '../../services/files/index.ts'
import type { Sendfile } from '../../settings/index.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import { openFirst } from './conditions.ts'
import { type Presentation, prepareResponse, sendResponse, sendThroughProxy, spansOf } from './download-response.ts'
import { openContent } from './file-content.ts'

/** The decisions of a front end about a download. */
interface Serving<D extends Download> {
  /** Opens the file or folder for the duration of a function. */
  withDownload<T>(use: UseDownload<T, D>): Promise<T>
  present(download: D): Presentation
  /** Sends or refuses a folder. */
  sendFolder(download: D, signal: AbortSignal): Promise<null>
  /** Null if the proxy sends no files. */
  sendfile: Sendfile | null
}

/** Returns how to open the file that a request asks for; null if the proxy opens it itself. */
export function openFor(
  request: FastifyRequest,
  sendfile: Sendfile | null,
  headers: FastifyRequest['headers'] = request.headers,
): OpenFirst | null {
  return sendfile && canProxySend(request) ? null : openFirst(request.method, headers)
}

/** Presents a file under its own name, etag and type. @param headers further headers of responses with content */
export function asStored(entry: FileEntry, inline: boolean, headers: Presentation['headers'] = {}): Presentation {
  return {
    etag: entry.etag,
    contentType: contentType(entry.mimeType),
    headers: { 'Content-Disposition': contentDisposition(entry, inline), ...headers },
  }
}

/** Sends a file as the response to a GET or HEAD request, under its conditions. @throws as `Files.download`, UNAVAILABLE */
export async function serveDownload<D extends Download>(
  request: FastifyRequest,
  reply: FastifyReply,
  { withDownload, present, sendFolder, sendfile }: Serving<D>,
): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const changed = await withDownload(async (download, signal) => {
      if (download.entry.kind === 'directory') return sendFolder(download, signal)
      const presentation = present(download)
      const body = prepareResponse(request, reply, download, presentation)
      try {
        if (sendfile && body.kind !== 'none' && canProxySend(request)) {
          const header = await proxySendfileHeader(sendfile, download.location, download.entry.etag, signal)
          if (header) {
            sendThroughProxy(reply, body, download, presentation, header)
            return null
          }
        }
        const content = body.kind === 'none' ? null : await openContent(download, spansOf(body), signal)
        await sendResponse(request, reply, body, content, download, signal)
        return null
      } catch (error) {
        if (error instanceof AppError && error.reason === 'PRECONDITION_FAILED') return error
        throw error
      }
    })
    if (!changed) return
    // The file was replaced between stat and open. That can happen once; retry, then report it.
    if (!isFirst) throw new AppError('UNAVAILABLE', 'The file is being changed: try again.', { cause: changed })
  }
}

/** The proxy would evaluate these with its own validators. */
const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range'] as const

/** A request came through the proxy only if its `X-Forwarded-For` was trusted. */
function canProxySend({ method, headers, ips }: FastifyRequest): boolean {
  return method === 'GET' && (ips?.length ?? 0) > 1 && conditions.every(name => headers[name] === undefined)
}

/**
 * Returns the header that names the file; null if the content is not a file on disk, or was just removed or replaced.
 * @throws as `ReadLocation.openFile`
 */
async function proxySendfileHeader(
  { header, prefix }: Sendfile,
  location: ReadLocation,
  etag: string | null,
  signal: AbortSignal,
): Promise<Record<string, string> | null> {
  const file = await location.openFile(signal, etag === null ? {} : { ifMatch: etag })
  if (!file) return null
  try {
    // The kernel resolves the path without symbolic links: proc_pid_fd(5).
    const path = await readlink(`/proc/self/fd/${file.handle.fd}`, { encoding: 'buffer' })
    const [opened, named] = await Promise.all([file.handle.stat(), lstat(path)])
    return opened.ino === named.ino && opened.dev === named.dev ? { [header]: prefix + encodePath(path) } : null
  } catch {
    return null
  } finally {
    await file.handle.close()
  }
}

/** nginx and the X-Sendfile modules decode percent-encoding. */
function encodePath(path: Buffer): string {
  return path.toString('latin1').replace(/[^\w/.~-]/g, byte => {
    return `%${byte.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`
  })
}
