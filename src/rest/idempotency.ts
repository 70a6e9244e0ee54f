import type { IncomingHttpHeaders } from 'node:http'
import { finished } from 'node:stream/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireViewer } from '../auth/viewer.ts'
import { AppError } from '../errors.ts'
import type { Services } from '../services/index.ts'

const quoted = /^"([\x20\x21\x23-\x5b\x5d-\x7e]{1,255})"$/
const bare = /^[\w.:+/=-]{1,255}$/
/** What makes a request another one; of the body, what the client tells of it. */
const telling = [
  'content-type',
  'content-length',
  'content-digest',
  'repr-digest',
  'content-md5',
  'if-match',
  'if-none-match',
]

/** A string of RFC 9651 in quotes, or as most clients send it, without. @throws INVALID_INPUT */
export function parseIdempotencyKey({ 'idempotency-key': header }: IncomingHttpHeaders): string | undefined {
  if (header === undefined) return undefined
  const text = Array.isArray(header) ? header.join(', ') : header
  const key = quoted.exec(text)?.[1] ?? (bare.test(text) ? text : undefined)
  if (key === undefined) {
    throw new AppError('INVALID_INPUT', 'An Idempotency-Key has 1 to 255 printable ASCII characters, best in quotes.')
  }
  return key
}

/** Where a form fails, what came before stays: doing it again would not be the same. @throws INVALID_INPUT */
export function requireNoIdempotencyKey(headers: IncomingHttpHeaders): void {
  if (headers['idempotency-key'] !== undefined) {
    throw new AppError('INVALID_INPUT', 'A form takes no Idempotency-Key: send each file as the raw body.')
  }
}

/** An answer that can be given again: its body and the headers that belong to it. */
export interface Repeatable {
  headers: Record<string, string>
  body: object
}

/**
 * Does `work` once for each `Idempotency-Key`; without the header, always.
 * @param upload its `authorize` throws where the credential does not reach that far, or no more: then no key is looked up
 */
export async function onlyOnce(
  idempotency: Services['idempotency'],
  request: FastifyRequest,
  reply: FastifyReply,
  { work, authorize }: { work: () => Promise<Repeatable>; authorize: () => void },
): Promise<object> {
  const key = parseIdempotencyKey(request.headers)
  const send = ({ headers, body }: Repeatable) => {
    reply.headers(headers)
    return body
  }
  if (key === undefined) return send(await work())
  authorize()
  const { raw } = request
  const fingerprint = JSON.stringify([raw.method, raw.url, ...telling.map(name => request.headers[name] ?? null)])
  const { answer, isRepeated } = await idempotency.once(requireViewer(request.viewer), { key, fingerprint }, work)
  if (isRepeated) {
    // A client that is still sending would not see an answer that comes before its end.
    raw.resume()
    await finished(raw, { writable: false })
    reply.header('Idempotency-Replayed', 'true')
  }
  return send(answer)
}
