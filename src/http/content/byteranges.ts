/** Several ranges of a file in one response: RFC 9110, section 14.6. */
import { randomBytes } from 'node:crypto'
import type { Span } from './range.ts'

export interface ByteRanges {
  contentType: string
  /** The length of the whole body in bytes. */
  length: number
  parts: { head: Buffer; span: Span }[]
  end: Buffer
}

export function contentRange({ first, last }: Span, size: number): string {
  return `bytes ${first}-${last}/${size}`
}

export function planByteRanges(spans: readonly Span[], size: number, mimeType: string): ByteRanges {
  const boundary = randomBytes(16).toString('hex')
  const parts = spans.map(span => {
    const head = `\r\n--${boundary}\r\nContent-Type: ${mimeType}\r\nContent-Range: ${contentRange(span, size)}\r\n\r\n`
    return { head: Buffer.from(head), span }
  })
  const end = Buffer.from(`\r\n--${boundary}--\r\n`)
  const length = parts.reduce((sum, { head, span }) => sum + head.length + span.last - span.first + 1, end.length)
  return { contentType: `multipart/byteranges; boundary=${boundary}`, length, parts, end }
}
