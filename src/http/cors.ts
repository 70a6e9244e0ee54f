import type { FastifyInstance } from 'fastify'
import type { AllowedOrigins } from '../settings/index.ts'

const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE'

/** The headers that clients can send. The console's header is missing, so that no other origin can use its cookie. */
const requestHeaders = [
  'Authorization',
  'Content-Digest',
  'Content-MD5',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-Modified-Since',
  'If-None-Match',
  'If-Range',
  'If-Unmodified-Since',
  'Last-Event-ID',
  'Mcp-Method',
  'Mcp-Name',
  'Mcp-Protocol-Version',
  'Range',
  'Repr-Digest',
  'Stowage-Share-Password',
  'Tus-Resumable',
  'Upload-Checksum',
  'Upload-Defer-Length',
  'Upload-Length',
  'Upload-Metadata',
  'Upload-Offset',
  'Want-Content-Digest',
  'Want-Repr-Digest',
  'X-HTTP-Method-Override',
  'X-Request-Id',
].join(', ')

/** The headers that scripts can read. Browsers expose some others, such as Content-Type, always. */
const responseHeaders = [
  'Accept-Ranges',
  'Allow',
  'Content-Digest',
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'Idempotency-Replayed',
  'Location',
  'Repr-Digest',
  'Retry-After',
  'Tus-Checksum-Algorithm',
  'Tus-Extension',
  'Tus-Max-Size',
  'Tus-Resumable',
  'Tus-Version',
  'Upload-Defer-Length',
  'Upload-Expires',
  'Upload-Length',
  'Upload-Metadata',
  'Upload-Offset',
  'Upload-Stored-Path',
  'X-Robots-Tag',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ')

/** Seconds for which browsers cache a preflight. Chromium caches none for longer. */
const maxAge = 7200

/**
 * Allows browser applications of other origins to call the API with credentials that they send themselves
 * (https://fetch.spec.whatwg.org/#http-cors-protocol). `Access-Control-Allow-Credentials` is never sent, so browsers add
 * no cookie.
 */
export function allowOrigins(app: FastifyInstance, allowed: AllowedOrigins): void {
  if (allowed.length === 0) return
  const origins = new Set(allowed)
  app.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers
    if (allowed !== '*') reply.header('Vary', 'Origin')
    if (origin === undefined || !(allowed === '*' || origins.has(origin))) return
    reply.header('Access-Control-Allow-Origin', allowed === '*' ? '*' : origin)
    if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined) {
      return reply
        .status(204)
        .header('Access-Control-Allow-Methods', methods)
        .header('Access-Control-Allow-Headers', requestHeaders)
        .header('Access-Control-Max-Age', maxAge)
        .send()
    }
    reply.header('Access-Control-Expose-Headers', responseHeaders)
  })
}
