/** The response to a download: its headers, and the parts of the file that it contains. */

import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import type { Download } from '../../services/files/index.ts'
import { hijack } from '../admission.ts'
import { cutResponse } from '../connection/client-abort.ts'
import { memoryOf } from '../memory.ts'
import { formatTag, isNotModified, isRangeCurrent, parseRange, type Span, wholeSeconds } from './conditions.ts'
import { digestHeaders } from './digests.ts'
import type { Content } from './file-content.ts'
import { bytesWritten, end, write } from './send-file.ts'

/** The presentation of a file by a front end. */
export interface Presentation {
  /** The opaque tag in the front end's form. */
  etag: string | null
  contentType: string
  /** The response is the whole file, whatever ranges and conditions the request has. */
  isWhole?: boolean
  /** Further headers of responses with content. */
  headers: Readonly<Record<string, string>>
}

/**
 * Viewers of browsers refuse to show a PDF file in a sandbox, and run its scripts in one of their own. The console shows them in a
 * frame.
 */
const pdfPolicy = "default-src 'none'; frame-ancestors 'self'"

/** The parts of the file that the response contains. */
export type ResponseBody =
  | { kind: 'none' }
  | { kind: 'one'; span: Span | null }
  | { kind: 'several'; ranges: ByteRanges; spans: readonly [Span, ...Span[]] }

/** Sets the status and the headers. @throws PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE */
export function prepareResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  { entry }: Download,
  presentation: Presentation,
): ResponseBody {
  const { method } = request
  const { etag, contentType, isWhole = false } = presentation
  const headers: IncomingHttpHeaders = isWhole ? {} : request.headers
  const validators = { etag, modifiedAt: entry.modifiedAt }
  reply.headers({
    'Accept-Ranges': entry.size === null || isWhole ? 'none' : 'bytes',
    'Cache-Control': 'private, no-cache',
    'Content-Security-Policy': contentType === 'application/pdf' ? pdfPolicy : 'sandbox',
    ...(etag !== null && { ETag: formatTag(etag) }),
    ...(entry.modifiedAt && { 'Last-Modified': lastModified(entry.modifiedAt) }),
  })
  // Pages embed links. A request with a credential comes from a script of the same origin.
  if (request.viewer === null) reply.header('Cross-Origin-Resource-Policy', 'cross-origin')
  if (isNotModified(headers, validators)) {
    reply.status(304)
    return { kind: 'none' }
  }
  reply.headers(presentation.headers)
  const ranged = method === 'GET' && headers.range !== undefined && isRangeCurrent(headers, validators)
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
    const ranges = planByteRanges(spans, entry.size, contentType)
    reply.headers({ 'Content-Type': ranges.contentType, 'Content-Length': String(ranges.length) })
    return { kind: 'several', ranges, spans: [first, ...more] }
  }
  const span = first ?? (entry.size === null ? null : { first: 0, last: entry.size - 1 })
  const length = span && span.last - span.first + 1
  reply.header('Content-Type', contentType)
  if (length !== null) reply.header('Content-Length', String(length))
  if (first && entry.size !== null) reply.header('Content-Range', contentRange(first, entry.size))
  return method === 'HEAD' || length === 0 ? { kind: 'none' } : { kind: 'one', span }
}

/** Returns the ranges to send; null is a whole file of unknown size. */
export function spansOf(body: Exclude<ResponseBody, { kind: 'none' }>): readonly [Span | null, ...(Span | null)[]] {
  return body.kind === 'one' ? [body.span] : body.spans
}

/** Sends the headers and the content. After the headers, a failure cuts the connection instead of throwing. */
export async function sendResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  body: ResponseBody,
  content: Content | null,
  { ended }: Download,
  signal: AbortSignal,
): Promise<void> {
  const isDownload = request.method === 'GET' && reply.statusCode !== 304
  const response = reply.raw
  if (content?.bytes) memoryOf(request).growResponse(content.bytes.length)
  hijack(reply)
  try {
    response.writeHead(reply.statusCode, reply.getHeaders() as Record<string, string>)
    let sent: number
    if (content?.bytes && body.kind === 'one' && body.span) {
      const part = content.bytes.subarray(body.span.first, body.span.last + 1)
      await end(response, part, signal)
      sent = part.length
    } else {
      if (content) await sendBody(response, body, content, signal)
      response.end()
      sent = bytesWritten(response)
    }
    if (isDownload) ended(sent)
  } catch (error) {
    if (isDownload) ended(bytesWritten(response), signal.aborted ? signal.reason : error)
    cutResponse(reply, error, signal)
  } finally {
    await content?.close()
  }
}

/** Lets the proxy send the file. The proxy applies the ranges of the request itself, and never reports how much it sent. */
export function sendThroughProxy(
  reply: FastifyReply,
  body: Exclude<ResponseBody, { kind: 'none' }>,
  { ended }: Download,
  { contentType }: Presentation,
  header: Record<string, string>,
): void {
  const requested = body.kind === 'several' ? body.ranges.length : body.span && body.span.last - body.span.first + 1
  // nginx sets its own Accept-Ranges.
  reply
    .removeHeader('Content-Range')
    .removeHeader('Accept-Ranges')
    .headers({ ...header, 'Content-Type': contentType })
  hijack(reply)
  reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), 'content-length': '0' })
  reply.raw.end()
  ended(requested ?? 0)
}

async function sendBody(
  response: ServerResponse,
  body: ResponseBody,
  content: Content,
  signal: AbortSignal,
): Promise<void> {
  if (body.kind === 'one') await content.send(response, body.span, signal)
  if (body.kind !== 'several') return
  for (const { head, span } of body.ranges.parts) {
    await write(response, head, signal)
    await content.send(response, span, signal)
  }
  await write(response, body.ranges.end, signal)
}

/** A Last-Modified date is never in the future: RFC 9110, section 8.8.2.1. */
export function lastModified(modifiedAt: Date): string {
  return new Date(Math.min(wholeSeconds(modifiedAt), Date.now())).toUTCString()
}

/** Several ranges of a file in one response: RFC 9110, section 14.6. */
interface ByteRanges {
  contentType: string
  /** The length of the whole body in bytes. */
  length: number
  parts: { head: Buffer; span: Span }[]
  end: Buffer
}

function contentRange({ first, last }: Span, size: number): string {
  return `bytes ${first}-${last}/${size}`
}

function planByteRanges(spans: readonly Span[], size: number, mimeType: string): ByteRanges {
  const boundary = randomBytes(16).toString('hex')
  const parts = spans.map(span => {
    const head = `\r\n--${boundary}\r\nContent-Type: ${mimeType}\r\nContent-Range: ${contentRange(span, size)}\r\n\r\n`
    return { head: Buffer.from(head), span }
  })
  const end = Buffer.from(`\r\n--${boundary}--\r\n`)
  const length = parts.reduce((sum, { head, span }) => sum + head.length + span.last - span.first + 1, end.length)
  return { contentType: `multipart/byteranges; boundary=${boundary}`, length, parts, end }
}
