import type { FastifyInstance } from 'fastify'
import { AppError } from '../errors.ts'
import { withTimeout } from '../lib/timeout.ts'
import type { Operation } from './openapi/operation.ts'

const content = {
  'application/json': { type: 'object', required: ['status'], properties: { status: { const: 'ok' } } },
}
const getHealth: Operation = {
  id: 'getHealth',
  tag: 'Service',
  summary: 'Returns 200 while the process runs.',
  security: [],
  responses: { 200: { description: 'The process runs.', content } },
  reasons: [],
}
const getReadiness: Operation = {
  id: 'getReadiness',
  tag: 'Service',
  summary: 'Returns 200 if the database responds and is migrated, otherwise 503.',
  security: [],
  responses: { 200: { description: 'The server can work.', content } },
  reasons: [],
}

/** Milliseconds for the database to respond. */
const readyTimeout = 5000

/** Adds `/healthz` (the process runs) and `/readyz` (it can work). @param ready rejects with a sentence if it cannot work */
export function healthRoutes(app: FastifyInstance, ready: () => Promise<void>): void {
  const ok = { status: 'ok' }
  let check: Promise<void> | undefined
  app.get('/healthz', optionsOf(getHealth), async () => ok)
  app.get('/readyz', optionsOf(getReadiness), async () => {
    // Concurrent requests share one check of the database.
    check ??= withTimeout(ready(), readyTimeout, () => new Error('The database does not respond in time.')).finally(
      () => {
        check = undefined
      },
    )
    try {
      await check
    } catch (cause) {
      throw new AppError('UNAVAILABLE', isSentence(cause) ? cause.message : 'The database does not respond.', { cause })
    }
    return ok
  })
}

function optionsOf(operation: Operation) {
  return { logLevel: 'warn', config: { unlimited: true, operations: { GET: operation } } } as const
}

/** Returns false for errors of the database driver. They have a code, and may reveal addresses. */
function isSentence(cause: unknown): cause is Error {
  return cause instanceof Error && !('code' in cause)
}
