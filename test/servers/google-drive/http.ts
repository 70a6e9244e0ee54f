import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError } from './errors.ts'

/** A request as the handlers get it. */
export interface Exchange {
  request: IncomingMessage
  response: ServerResponse
  method: string
  path: string
  query: URLSearchParams
  /** The account of the access token. */
  account: string
}

export function flag(query: URLSearchParams, name: string): boolean {
  return query.get(name) === 'true'
}

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

export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const known = error instanceof ApiError ? error : new ApiError(500, 'internalError', String(error))
  sendJson(response, known.body, known.status, known.headers)
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** @throws 400 parseError */
export async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  return parseJson(await readBody(request))
}

/** @throws 400 parseError */
export function parseJson(body: Buffer): Record<string, unknown> {
  if (body.length === 0) return {}
  try {
    return JSON.parse(body.toString())
  } catch {
    throw new ApiError(400, 'parseError', 'Parse Error')
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
