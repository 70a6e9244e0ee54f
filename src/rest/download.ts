import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireScope } from '../auth/policy.ts'
import { AppError } from '../errors.ts'
import { originOf } from '../http/authentication.ts'
import { requestSignal } from '../http/connection/client-abort.ts'
import { asTransfer } from '../http/connection/graceful-close.ts'
import { sendArchive } from '../http/content/archive/archive.ts'
import { type ByteRanges, contentRange, planByteRanges } from '../http/content/byteranges.ts'
import { cutDownload } from '../http/content/cut-download.ts'
import { digestHeaders } from '../http/content/digests.ts'
import { isNotModified, isRangeCurrent } from '../http/content/download-conditions.ts'
import { type Content, openContent } from '../http/content/file-content.ts'
import { canProxySend, proxySendfileHeader } from '../http/content/proxy-sendfile.ts'
import { parseRange, type Span } from '../http/content/range.ts'
import { bytesWritten, write } from '../http/content/send-file.ts'
import { formatTag, wholeSeconds } from '../http/content/validators.ts'
import { parseQuery, requireParameter } from '../http/query.ts'
import { contentDisposition, contentType, type Download, type UseDownload } from '../services/files/index.ts'
import type { Services } from '../services/index.ts'
import type { Sendfile } from '../settings.ts'

export const downloadPath = '/api/download/proxy'

/** Serves `GET|HEAD ?providerId=&path=` with a credential, or `?ticket=`. A folder is sent as a ZIP archive. */
export function downloadRoute(app: FastifyInstance, { files }: Services, sendfile: Sendfile | null): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: downloadPath,
    config: { audit: 'DOWNLOAD' },
    handler: async (request, reply) => {
      const query = parseDownload(request)
      const signal = requestSignal(request)
      const withDownload: WithDownload = use =>
        query.ticket === undefined
          ? files.download(request.viewer, query, signal, (download, signal) =>
              use({ ...download, inline: false }, signal),
            )
          : files.downloadLink(query.ticket, originOf(request), signal, use)
      await asTransfer(app, respond(withDownload, query.inline, request, reply, sendfile))
    },
  })
}

type RequestedDownload = Download & { inline: boolean }
type WithDownload = <T>(use: UseDownload<T, RequestedDownload>) => Promise<T>

/** The parts of the file that the response contains. */
type Body =
  | { kind: 'none' }
  | { kind: 'one'; span: Span | null }
  | { kind: 'several'; ranges: ByteRanges; spans: readonly [Span, ...Span[]] }

interface DownloadQuery {
  ticket: string | undefined
  providerId: string
  path: string
  /** If undefined, the ticket decides. */
  inline: boolean | undefined
}

function parseDownload({ raw, viewer }: FastifyRequest): DownloadQuery {
  const query = parseQuery(raw.url ?? '', ['providerId', 'path', 'ticket', 'disposition'])
  const { ticket, disposition } = query
  if (ticket === undefined) requireScope(viewer, 'read')
  if (disposition !== undefined && disposition !== 'inline' && disposition !== 'attachment') {
    throw new AppError('INVALID_INPUT', '"disposition" must be "inline" or "attachment".')
  }
  const inline = disposition && disposition === 'inline'
  if (ticket === undefined) {
    const providerId = requireParameter(query.providerId, 'providerId')
    return { ticket, providerId, path: requireParameter(query.path, 'path'), inline }
  }
  if (query.providerId !== undefined || query.path !== undefined) {
    throw new AppError('INVALID_INPUT', 'Send either "ticket", or "providerId" and "path".')
  }
  return { ticket, providerId: '', path: '', inline }
}

async function respond(
  withDownload: WithDownload,
  inline: boolean | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  sendfile: Sendfile | null,
): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const changed = await withDownload(async (download, signal) => {
      if (download.entry.kind === 'directory') return sendArchive(download, request, reply, signal)
      const body = prepare(request, reply, download, inline ?? download.inline)
      try {
        if (sendfile && body.kind !== 'none' && canProxySend(request)) {
          const header = await proxySendfileHeader(sendfile, download.location, download.entry.etag, signal)
          if (header) {
            leaveToProxy(reply, body, download, header)
            return null
          }
        }
        const content = body.kind === 'none' ? null : await openContent(download, spansOf(body), signal)
        await transmit(request, reply, body, content, download, signal)
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

/** Sets the status and the headers. @throws PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE */
function prepare(request: FastifyRequest, reply: FastifyReply, { entry }: RequestedDownload, inline: boolean): Body {
  const { headers, method } = request
  const mimeType = contentType(entry.mimeType)
  reply.headers({
    'Accept-Ranges': entry.size === null ? 'none' : 'bytes',
    'Cache-Control': 'private, no-cache',
    'Content-Security-Policy': 'sandbox',
    ...(entry.etag !== null && { ETag: formatTag(entry.etag) }),
    ...(entry.modifiedAt && { 'Last-Modified': lastModified(entry.modifiedAt) }),
  })
  // Pages embed links. A request with a credential comes from a script of the same origin.
  if (request.viewer === null) reply.header('Cross-Origin-Resource-Policy', 'cross-origin')
  if (isNotModified(headers, entry)) {
    reply.status(304)
    return { kind: 'none' }
  }
  reply.header('Content-Disposition', contentDisposition(entry, inline))
  const ranged = method === 'GET' && headers.range !== undefined && isRangeCurrent(headers, entry)
  const range = ranged && entry.size !== null ? parseRange(headers.range ?? '', entry.size) : null
  if (range?.kind === 'unsatisfiable') {
    reply.header('Content-Range', `bytes */${entry.size}`)
    throw new AppError(
      'RANGE_NOT_SATISFIABLE',
      `The file has ${entry.size} bytes, and no requested range lies inside it.`,
    )
  }
  const spans = range?.kind === 'spans' ? range.spans : []
  const [first, ...more] = spans
  reply.status(first ? 206 : 200).headers(digestHeaders(headers, entry.checksums, !first))
  if (entry.size !== null && first && more.length > 0) {
    const ranges = planByteRanges(spans, entry.size, mimeType)
    reply.headers({ 'Content-Type': ranges.contentType, 'Content-Length': String(ranges.length) })
    return { kind: 'several', ranges, spans: [first, ...more] }
  }
  const span = first ?? (entry.size === null ? null : { first: 0, last: entry.size - 1 })
  const length = span && span.last - span.first + 1
  reply.header('Content-Type', mimeType)
  if (length !== null) reply.header('Content-Length', String(length))
  if (first && entry.size !== null) reply.header('Content-Range', contentRange(first, entry.size))
  return method === 'HEAD' || length === 0 ? { kind: 'none' } : { kind: 'one', span }
}

function spansOf(body: Exclude<Body, { kind: 'none' }>): readonly [Span | null, ...(Span | null)[]] {
  return body.kind === 'one' ? [body.span] : body.spans
}

async function transmit(
  request: FastifyRequest,
  reply: FastifyReply,
  body: Body,
  content: Content | null,
  { ended }: RequestedDownload,
  signal: AbortSignal,
): Promise<void> {
  const isDownload = request.method === 'GET' && reply.statusCode !== 304
  const response = reply.raw
  reply.hijack()
  try {
    response.writeHead(reply.statusCode, reply.getHeaders() as Record<string, string>)
    if (content) await sendBody(response, body, content, signal)
    response.end()
    if (isDownload) ended(bytesWritten(response))
  } catch (error) {
    if (isDownload) ended(bytesWritten(response), signal.aborted ? signal.reason : error)
    cutDownload(request, response, error, signal)
  } finally {
    await content?.close()
  }
}

/** Names the whole file; the proxy applies the ranges of the request. It never reports how much it sent. */
function leaveToProxy(
  reply: FastifyReply,
  body: Exclude<Body, { kind: 'none' }>,
  { entry, ended }: RequestedDownload,
  header: Record<string, string>,
): void {
  const requested = body.kind === 'several' ? body.ranges.length : body.span && body.span.last - body.span.first + 1
  // nginx sets its own Accept-Ranges.
  reply
    .removeHeader('Content-Range')
    .removeHeader('Accept-Ranges')
    .headers({ ...header, 'Content-Type': contentType(entry.mimeType) })
  reply.hijack()
  reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), 'content-length': '0' })
  reply.raw.end()
  ended(requested ?? 0)
}

async function sendBody(response: ServerResponse, body: Body, content: Content, signal: AbortSignal): Promise<void> {
  if (body.kind === 'one') await content.send(response, body.span, signal)
  if (body.kind !== 'several') return
  for (const { head, span } of body.ranges.parts) {
    await write(response, head, signal)
    await content.send(response, span, signal)
  }
  await write(response, body.ranges.end, signal)
}

/** A Last-Modified date is never in the future: RFC 9110, section 8.8.2.1. */
function lastModified(modifiedAt: Date): string {
  return new Date(Math.min(wholeSeconds(modifiedAt), Date.now())).toUTCString()
}
