import type { FastifyInstance } from 'fastify'
import { AppError } from '../../errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Transfers that are running or cleaning up. */
    transfers: Set<Promise<unknown>>
  }
}

/** Milliseconds. */
const idleCheckInterval = 50
/** Milliseconds for aborted transfers to clean up. */
const cleanupTimeout = 1500

/** Refuses new requests on open connections while the server is stopping, so that clients retry elsewhere. */
export function refuseWhenClosing(app: FastifyInstance): void {
  let closing = false
  app.decorate('transfers', new Set<Promise<unknown>>())
  app.addHook('preClose', done => {
    closing = true
    done()
  })
  app.addHook('onRequest', (_request, reply, done) => {
    if (closing) {
      reply.header('Connection', 'close')
      done(new AppError('UNAVAILABLE', 'The server is stopping: try again.'))
    } else done()
  })
}

/** Makes a closing server wait until the work has cleaned up. */
export async function asTransfer<T>({ transfers }: FastifyInstance, work: Promise<T>): Promise<T> {
  transfers.add(work)
  try {
    return await work
  } finally {
    transfers.delete(work)
  }
}

/** Stops accepting connections, lets running requests finish for `drainTimeout` milliseconds, then disconnects them. */
export async function closeGracefully(app: FastifyInstance, drainTimeout: number): Promise<void> {
  const { server } = app
  // Keep-alive connections become idle one after the other, when their last response ends.
  const idle = setInterval(() => server.closeIdleConnections(), idleCheckInterval)
  const cut = setTimeout(() => server.closeAllConnections(), drainTimeout)
  try {
    await app.close()
  } finally {
    clearInterval(idle)
    clearTimeout(cut)
  }
  const cleanedUp = Promise.withResolvers<void>()
  const tooLong = setTimeout(cleanedUp.resolve, cleanupTimeout)
  void Promise.allSettled(app.transfers).then(() => cleanedUp.resolve())
  await cleanedUp.promise
  clearTimeout(tooLong)
}
