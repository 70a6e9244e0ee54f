/** The header `Idempotency-Key`: a repeated upload returns the first response again. */
import type { IncomingHttpHeaders } from 'node:http'
import { finished } from 'node:stream/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireViewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { RequestParameters } from '../../http/openapi/operation.ts'
import type { Services } from '../../services/index.ts'

const pattern = /^(?:"([\x20\x21\x23-\x5b\x5d-\x7e]{1,255})"|([\w.:+/=-]{1,255}))$/

export const idempotencyParameters: RequestParameters = {
  'Idempotency-Key': {
    description: 'Makes a repeated upload harmless: for 24 hours, the same key returns the first response again.',
    schema: { type: 'string', pattern: pattern.source },
  },
}

/**
 * The headers that, with the method and URL, identify a request. The body itself is not compared, only what these
 * headers say about it.
 */
const identifyingHeaders = [
  'content-type',
  'content-length',
  'content-digest',
  'repr-digest',
  'content-md5',
  'if-match',
  'if-none-match',
]

/** Parses a string of RFC 9651 (in quotes), or a key without quotes as most clients send it. @throws INVALID_INPUT */
function parseIdempotencyKey({ 'idempotency-key': header }: IncomingHttpHeaders): string | undefined {
  if (header === undefined) return undefined
  const text = Array.isArray(header) ? header.join(', ') : header
  const [, quoted, bare] = pattern.exec(text) ?? []
  const key = quoted ?? bare
  if (key === undefined) {
    throw new AppError(
      'INVALID_INPUT',
      'An Idempotency-Key must have 1 to 255 printable ASCII characters, preferably in quotes.',
    )
  }
  return key
}

/** Rejects the header on a form: if a form fails, the files stored so far stay, so it cannot be repeated. @throws INVALID_INPUT */
export function requireNoIdempotencyKey(headers: IncomingHttpHeaders): void {
  if (headers['idempotency-key'] !== undefined) {
    throw new AppError('INVALID_INPUT', 'A form cannot have an Idempotency-Key: send each file as the raw body.')
  }
}

/** A response that can be sent again: its body and the headers that belong to it. */
export interface RepeatableResponse {
  headers: Record<string, string>
  body: object
}

/**
 * Runs `work` once per `Idempotency-Key`, or each time if the request has none.
 * @param upload `authorize` runs before the key is looked up, and throws if the credential may not upload
 */
export async function onlyOnce(
  idempotency: Services['idempotency'],
  request: FastifyRequest,
  reply: FastifyReply,
  { work, authorize }: { work: () => Promise<RepeatableResponse>; authorize: () => void },
): Promise<object> {
  const key = parseIdempotencyKey(request.headers)
  const send = ({ headers, body }: RepeatableResponse) => {
    reply.headers(headers)
    return body
  }
  if (key === undefined) return send(await work())
  authorize()
  const { raw } = request
  const fingerprint = JSON.stringify([
    raw.method,
    raw.url,
    ...identifyingHeaders.map(name => request.headers[name] ?? null),
  ])
  const { response, isRepeated } = await idempotency.once(requireViewer(request.viewer), { key, fingerprint }, work)
  if (isRepeated) {
    // A client that is still sending might not read a response before it has sent the whole body.
    raw.resume()
    await finished(raw, { writable: false })
    reply.header('Idempotency-Replayed', 'true')
  }
  return send(response)
}
