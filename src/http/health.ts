import type { FastifyInstance } from 'fastify'
import { AppError } from '../errors.ts'

/** Milliseconds for the database to answer. */
const readyTimeout = 5000

/** `/healthz`: the process answers. `/readyz`: it can do its work; `ready` rejects with a sentence that says why not. */
export function healthRoutes(app: FastifyInstance, ready: () => Promise<void>): void {
  const ok = { status: 'ok' }
  app.get('/healthz', { logLevel: 'warn' }, async () => ok)
  app.get('/readyz', { logLevel: 'warn' }, async () => {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new Error('The database does not answer in time.')), readyTimeout)
    try {
      await Promise.race([ready(), late.promise])
    } catch (cause) {
      throw new AppError('UNAVAILABLE', isSentence(cause) ? cause.message : 'The database does not answer.', { cause })
    } finally {
      clearTimeout(timer)
    }
    return ok
  })
}

/** Drivers' own errors carry a code, and addresses that are nobody's business. */
function isSentence(cause: unknown): cause is Error {
  return cause instanceof Error && !('code' in cause)
}
