import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route decides when the client may send its body: see `continueOnRead`. */
    continuesLater?: true
  }
}

/**
 * Sends "100 Continue" only when the body is read (RFC 9110, section 10.1.1), so that a client that asks first can be
 * refused before it sends the body. Node would send it immediately.
 */
export function handleExpectations(app: FastifyInstance): void {
  const { server } = app
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
  // The server may ignore any other expectation.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.routeOptions.config.continuesLater !== true) sendContinue(request.raw, reply)
    done()
  })
}

/** Sends "100 Continue" when the body is first read. */
export function continueOnRead(request: IncomingMessage, reply: FastifyReply): void {
  if (awaitsContinue(request)) request.once('resume', () => sendContinue(request, reply))
}

function sendContinue(request: IncomingMessage, { raw }: FastifyReply): void {
  if (awaitsContinue(request) && !raw.headersSent) raw.writeContinue()
}

/** Returns whether the client sends the body only after "100 Continue". */
export function awaitsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue'
}
