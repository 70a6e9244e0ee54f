import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** The headers of every response. A route that serves pages or files to a browser sets its own policy. */
const standard = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

export function sendStandardHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    setStandardHeaders(request, reply)
    done()
  })
}

export function setStandardHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(standard).header('X-Request-Id', request.id)
}
