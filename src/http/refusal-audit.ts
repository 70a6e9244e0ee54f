import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AuditAction } from '../db/schema.ts'
import { AppError } from '../errors.ts'
import type { AuditFacts } from '../services/audit/index.ts'
import type { Services } from '../services/index.ts'
import { handleError } from './error-handler.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The action that the audit log records if the route refuses a request. Default: READ. */
    audit?: AuditAction
  }
  interface FastifyRequest {
    /** The locations that the request names, if they are not in its query. */
    named: AuditFacts | null
    /** The action that the audit log records if the route refuses the request, if requests of the route differ. */
    refusedAction: AuditAction | null
  }
}

/** Handles errors. If a route refuses a request before it calls a service, the refusal is recorded in the audit log. */
export function handleErrors(app: FastifyInstance, { audit }: Services): void {
  app.decorateRequest('named', null)
  app.decorateRequest('refusedAction', null)
  app.setErrorHandler((thrown, request, reply) => {
    if (thrown instanceof AppError && thrown.code === 'FORBIDDEN') {
      const action = request.refusedAction ?? request.routeOptions.config?.audit ?? 'READ'
      audit.noteRefusal(
        request.viewer,
        action,
        { ...locationIn(request), details: { route: routeOf(request) } },
        thrown,
      )
    }
    handleError(thrown, request, reply)
  })
}

function locationIn({ raw, named }: FastifyRequest): AuditFacts {
  if (named) return named
  const query = new URLSearchParams(raw.url?.split('?', 2)[1] ?? '')
  const providerId = query.get('providerId')
  return providerId === null ? {} : { location: { providerId, path: query.get('path') ?? undefined } }
}

function routeOf({ method, routeOptions }: FastifyRequest): string {
  return `${method} ${routeOptions.url ?? ''}`
}
