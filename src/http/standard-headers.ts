import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/**
 * The headers of every response. A route that serves pages or files to a browser sets its own policy. The names are in lowercase, so that
 * Fastify does not have to convert them.
 */
const standard = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

export function sendStandardHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    setStandardHeaders(request, reply)
    done()
  })
}

export function setStandardHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(standard).header('x-request-id', request.id)
}
