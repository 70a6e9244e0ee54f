import type { FastifyInstance } from 'fastify'

/** Leaves all bodies to the handlers of a scope, which read them as streams. */
export function streamBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
}

/** Reads all bodies of a scope into buffers, up to the body limit of the route. */
export function bufferBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}
