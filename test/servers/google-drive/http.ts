import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody, sendJson } from '../cloud/http.ts'
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

export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const known = error instanceof ApiError ? error : new ApiError(500, 'internalError', String(error))
  sendJson(response, known.body, known.status, known.headers)
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
