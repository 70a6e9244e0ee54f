import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireScope } from '../../auth/policy.ts'
import { AppError } from '../../errors.ts'
import { contentDisposition, contentType, type Download, type UseDownload } from '../../services/files/index.ts'
import type { Services } from '../../services/index.ts'
import type { HandOver } from '../../settings.ts'
import { originOf } from '../authenticate.ts'
import { isNotModified, isRangeGood } from '../conditions.ts'
import { requestSignal } from '../connection/abort.ts'
import { asTransfer } from '../connection/close.ts'
import { digestHeaders } from '../content-digest.ts'
import { parseQuery, requireParameter } from '../query.ts'
import { formatTag, wholeSeconds } from '../validators.ts'
import { answerArchive } from './archive.ts'
import { type ByteRanges, contentRange, planByteRanges } from './byteranges.ts'
import { type Content, openContent } from './content.ts'
import { cutDownload } from './cut-download.ts'
import { handOverHeader, mayHandOver } from './hand-over.ts'
import { parseRange, type Span } from './range.ts'
import { bytesWritten, write } from './send-file.ts'

export const downloadPath = '/api/download/proxy'

/** `GET|HEAD ?providerId=&path=` with a credential, or `?ticket=`; `disposition=attachment|inline`. A folder is a ZIP file. */
export function downloadRoute(app: FastifyInstance, { files }: Services, handOver: HandOver | null): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: downloadPath,
    config: { audit: 'DOWNLOAD' },
    handler: async (request, reply) => {
      const query = parseDownload(request)
      const signal = requestSignal(request)
      const find: Find = use =>
        query.ticket === undefined
          ? files.download(request.viewer, query, signal, (found, running) => use({ ...found, inline: false }, running))
          : files.downloadLink(query.ticket, originOf(request), signal, use)
      await asTransfer(app, answer(find, query.inline, request, reply, handOver))
    },
  })
}

type Found = Download & { inline: boolean }
type Find = <T>(use: UseDownload<T, Found>) => Promise<T>

/** What is sent of a file. */
type Body =
  | { kind: 'none' }
  | { kind: 'one'; span: Span | null }
  | { kind: 'several'; ranges: ByteRanges; spans: readonly [Span, ...Span[]] }

interface DownloadQuery {
  ticket: string | undefined
  providerId: string
  path: string
  /** Undefined: as the ticket says, or not. */
  inline: boolean | undefined
}

function parseDownload({ raw, viewer }: FastifyRequest): DownloadQuery {
  const query = parseQuery(raw.url ?? '', ['providerId', 'path', 'ticket', 'disposition'])
  const { ticket, disposition } = query
  if (ticket === undefined) requireScope(viewer, 'read')
  if (disposition !== undefined && disposition !== 'inline' && disposition !== 'attachment') {
    throw new AppError('INVALID_INPUT', '"disposition" is "inline" or "attachment".')
  }
  const inline = disposition && disposition === 'inline'
  if (ticket === undefined) {
    const providerId = requireParameter(query.providerId, 'providerId')
    return { ticket, providerId, path: requireParameter(query.path, 'path'), inline }
  }
  if (query.providerId !== undefined || query.path !== undefined) {
    throw new AppError('INVALID_INPUT', 'Give either "ticket", or "providerId" and "path".')
  }
  return { ticket, providerId: '', path: '', inline }
}

async function answer(
  find: Find,
  inline: boolean | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  handOver: HandOver | null,
): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const changed = await find(async (found, signal) => {
      if (found.entry.kind === 'directory') return answerArchive(found, request, reply, signal)
      const body = decide(request, reply, found, inline ?? found.inline)
      try {
        if (handOver && body.kind !== 'none' && mayHandOver(request)) {
          const header = await handOverHeader(handOver, found.location, found.entry.etag, signal)
          if (header) {
            leaveToProxy(reply, body, found, header)
            return null
          }
        }
        const content = body.kind === 'none' ? null : await openContent(found, spansOf(body), signal)
        await transmit(request, reply, body, content, found, signal)
        return null
      } catch (error) {
        if (error instanceof AppError && error.reason === 'PRECONDITION_FAILED') return error
        throw error
      }
    })
    if (!changed) return
    // It was replaced between the look and the opening: once that is bad luck.
    if (!isFirst) throw new AppError('UNAVAILABLE', 'The file is being changed: try again.', { cause: changed })
  }
}

/** Sets status and headers. @throws PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE */
function decide(request: FastifyRequest, reply: FastifyReply, { entry }: Found, inline: boolean): Body {
  const { headers, method } = request
  const mimeType = contentType(entry.mimeType)
  reply.headers({
    'Accept-Ranges': entry.size === null ? 'none' : 'bytes',
    'Cache-Control': 'private, no-cache',
    'Content-Security-Policy': 'sandbox',
    ...(entry.etag !== null && { ETag: formatTag(entry.etag) }),
    ...(entry.modifiedAt && { 'Last-Modified': lastModified(entry.modifiedAt) }),
  })
  // A link is made to be put into a page; with a credential only one's own scripts ask.
  if (request.viewer === null) reply.header('Cross-Origin-Resource-Policy', 'cross-origin')
  if (isNotModified(headers, entry)) {
    reply.status(304)
    return { kind: 'none' }
  }
  reply.header('Content-Disposition', contentDisposition(entry, inline))
  const ranged = method === 'GET' && headers.range !== undefined && isRangeGood(headers, entry)
  const range = ranged && entry.size !== null ? parseRange(headers.range ?? '', entry.size) : null
  if (range?.kind === 'unsatisfiable') {
    reply.header('Content-Range', `bytes */${entry.size}`)
    throw new AppError('RANGE_NOT_SATISFIABLE', `The file has ${entry.size} bytes; no requested range lies inside.`)
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
  { ended }: Found,
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

/** The whole file, of which the proxy takes the ranges that the request names. It never says what it has sent. */
function leaveToProxy(
  reply: FastifyReply,
  body: Exclude<Body, { kind: 'none' }>,
  { entry, ended }: Found,
  header: Record<string, string>,
): void {
  const asked = body.kind === 'several' ? body.ranges.length : body.span && body.span.last - body.span.first + 1
  // nginx adds its own of the second.
  reply
    .removeHeader('Content-Range')
    .removeHeader('Accept-Ranges')
    .headers({ ...header, 'Content-Type': contentType(entry.mimeType) })
  reply.hijack()
  reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), 'content-length': '0' })
  reply.raw.end()
  ended(asked ?? 0)
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

/** Never later than now: section 8.8.2.1. */
function lastModified(modifiedAt: Date): string {
  return new Date(Math.min(wholeSeconds(modifiedAt), Date.now())).toUTCString()
}
