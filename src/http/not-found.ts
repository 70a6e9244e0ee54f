import type { FastifyInstance } from 'fastify'
import { AppError } from '../errors.ts'

/** To be called before any route. Answers 404, or 405 where another method would do, before the body is read. */
export function refuseUnknownRoutes(app: FastifyInstance): void {
  // For a route that finds nothing to send.
  app.setNotFoundHandler(() => {
    throw nothingHere()
  })
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = methods.get(url) ?? new Set()
    for (const name of [method].flat()) known.add(name)
    methods.set(url, known)
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) {
      done()
      return
    }
    const path = request.url.split('?', 1)[0] ?? ''
    const allowed = methods.get(path)
    if (allowed) {
      reply.header('Allow', [...allowed].join(', '))
      done(new AppError('METHOD_NOT_ALLOWED', `This address takes ${[...allowed].join(', ')}.`))
    } else done(nothingHere())
  })
}

export function nothingHere(): AppError {
  return new AppError('NOT_FOUND', 'There is nothing at this address.')
}
