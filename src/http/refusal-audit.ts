import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AuditAction } from '../db/schema.ts'
import { AppError } from '../errors.ts'
import type { Services } from '../services/index.ts'
import { handleError } from './error-handler.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route does, for the audit log; without one, what it refuses is a refused reading. */
    audit?: AuditAction
  }
}

/** What a route refuses before a service is asked is an event of the audit log, too. */
export function handleErrors(app: FastifyInstance, { audit }: Services): void {
  app.setErrorHandler((thrown, request, reply) => {
    if (thrown instanceof AppError && thrown.code === 'FORBIDDEN') {
      const action = request.routeOptions.config?.audit ?? 'READ'
      audit.noteRefusal(request.viewer, action, { ...placeIn(request), details: { route: routeOf(request) } }, thrown)
    }
    handleError(thrown, request, reply)
  })
}

function placeIn({ raw }: FastifyRequest) {
  const query = new URLSearchParams(raw.url?.split('?', 2)[1] ?? '')
  const providerId = query.get('providerId')
  return providerId === null ? {} : { place: { providerId, path: query.get('path') ?? undefined } }
}

function routeOf({ method, routeOptions }: FastifyRequest): string {
  return `${method} ${routeOptions.url ?? ''}`
}
