/** The HTTP code that the fake servers of cloud storages share. */
import type { IncomingMessage, ServerResponse } from 'node:http'

export function sendJson(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8', ...headers })
  response.end(text)
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Parses one range of bytes (RFC 9110, section 14). */
export function parseRange(
  header: string | undefined,
  size: number,
): { start: number; end: number } | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '')
  if (!match || (match[1] === '' && match[2] === '')) return undefined
  if (match[1] === '') {
    const length = Math.min(Number(match[2]), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size }
  }
  const start = Number(match[1])
  const end = match[2] === '' ? size : Math.min(Number(match[2]) + 1, size)
  return start >= size || end <= start ? 'unsatisfiable' : { start, end }
}

export function* slice(chunks: readonly Buffer[], start: number, end: number) {
  let position = 0
  for (const chunk of chunks) {
    const part = chunk.subarray(Math.max(0, start - position), Math.max(0, end - position))
    position += chunk.length
    if (part.length > 0) yield part
    if (position >= end) return
  }
}

/** Writes with back-pressure, so that a slow reader needs no memory here. */
export async function sendChunks(
  response: ServerResponse,
  chunks: Iterable<Buffer>,
  cutAfter: number | undefined,
  cutIsStall = false,
): Promise<void> {
  let sent = 0
  for (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += 65_536) {
      if (response.destroyed) return
      const piece = chunk.subarray(start, start + 65_536)
      if (cutAfter !== undefined && sent + piece.length > cutAfter) {
        response.write(piece.subarray(0, cutAfter - sent), () => cutIsStall || response.destroy())
        return
      }
      sent += piece.length
      if (!response.write(piece)) await drained(response)
    }
  }
  response.end()
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.on('drain', done)
    response.on('close', done)
  })
}
