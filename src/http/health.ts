import type { FastifyInstance } from 'fastify'
import { AppError } from '../errors.ts'
import { withTimeout } from '../timeout.ts'

/** Milliseconds for the database to answer. */
const readyTimeout = 5000

/** `/healthz`: the process answers. `/readyz`: it can do its work; `ready` rejects with a sentence that says why not. */
export function healthRoutes(app: FastifyInstance, ready: () => Promise<void>): void {
  const ok = { status: 'ok' }
  const options = { logLevel: 'warn', config: { unlimited: true } } as const
  let asking: Promise<void> | undefined
  app.get('/healthz', options, async () => ok)
  app.get('/readyz', options, async () => {
    // However many ask at once, the database is asked once.
    asking ??= withTimeout(ready(), readyTimeout, () => new Error('The database does not answer in time.')).finally(
      () => {
        asking = undefined
      },
    )
    try {
      await asking
    } catch (cause) {
      throw new AppError('UNAVAILABLE', isSentence(cause) ? cause.message : 'The database does not answer.', { cause })
    }
    return ok
  })
}

/** Drivers' own errors carry a code, and addresses that are nobody's business. */
function isSentence(cause: unknown): cause is Error {
  return cause instanceof Error && !('code' in cause)
}
