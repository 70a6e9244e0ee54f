import type { FastifyInstance } from 'fastify'
import { AppError } from '../errors.ts'
import { withTimeout } from '../timeout.ts'

/** Milliseconds for the database to respond. */
const readyTimeout = 5000

/** Adds `/healthz` (the process runs) and `/readyz` (it can work). @param ready rejects with a sentence if it cannot work */
export function healthRoutes(app: FastifyInstance, ready: () => Promise<void>): void {
  const ok = { status: 'ok' }
  const options = { logLevel: 'warn', config: { unlimited: true } } as const
  let check: Promise<void> | undefined
  app.get('/healthz', options, async () => ok)
  app.get('/readyz', options, async () => {
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

/** Returns false for errors of the database driver. They have a code, and may reveal addresses. */
function isSentence(cause: unknown): cause is Error {
  return cause instanceof Error && !('code' in cause)
}
