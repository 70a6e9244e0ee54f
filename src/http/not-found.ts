import type { FastifyInstance } from 'fastify'
import { AppError } from '../errors.ts'
import { splitUrl } from './url.ts'

/** Returns 404, or 405 if the route has other methods, before the body is read. Call this before you add any route. */
export function refuseUnknownRoutes(app: FastifyInstance): void {
  // Runs if a route calls `reply.callNotFound()`, as sending a missing static file does.
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
    const [path] = splitUrl(request.url)
    const allowed = methods.get(path) ?? methods.get(wildcardOf(path))
    if (allowed) {
      reply.header('Allow', [...allowed].join(', '))
      done(new AppError('METHOD_NOT_ALLOWED', `This endpoint accepts ${[...allowed].join(', ')}.`))
    } else done(nothingHere())
  })
}

/** Returns the pattern of the route that matches all paths below the first segment, such as `/dav/*`. */
function wildcardOf(path: string): string {
  return `${path.slice(0, path.indexOf('/', 1) + 1)}*`
}

export function nothingHere(): AppError {
  return new AppError('NOT_FOUND', 'Nothing exists at this URL.')
}
