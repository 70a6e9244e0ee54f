import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route itself says when the client may send its body: see `continueOnRead`. */
    continuesLater?: true
  }
}

/**
 * Holds "100 Continue" back until a body is wanted (RFC 9110, section 10.1.1), so that a client which asks first is
 * refused before it sends anything. Node would say it at once.
 */
export function handleExpectations(app: FastifyInstance): void {
  const { server } = app
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
  // Another expectation may be ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.routeOptions.config.continuesLater !== true) sayContinue(request.raw, reply)
    done()
  })
}

/** Says it when somebody begins to read the body. */
export function continueOnRead(request: IncomingMessage, reply: FastifyReply): void {
  if (awaitsContinue(request)) request.once('resume', () => sayContinue(request, reply))
}

function sayContinue(request: IncomingMessage, { raw }: FastifyReply): void {
  if (awaitsContinue(request) && !raw.headersSent) raw.writeContinue()
}

function awaitsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue'
}
