import type { FastifyInstance } from 'fastify'
import { AppError } from '../../errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Transfers whose work, tidying up included, is not over. */
    transfers: Set<Promise<unknown>>
  }
}

/** Milliseconds. */
const idleCheckInterval = 50
/** Milliseconds for transfers that were cut to tidy up. */
const tidyTime = 1500

/** Once the server is stopping, new requests on open connections are sent elsewhere. */
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

/** Keeps the server from ending before the work has tidied up. */
export async function asTransfer<T>({ transfers }: FastifyInstance, work: Promise<T>): Promise<T> {
  transfers.add(work)
  try {
    return await work
  } finally {
    transfers.delete(work)
  }
}

/** Takes no more connections, lets running requests finish for `grace` milliseconds, then cuts them. */
export async function closeGracefully(app: FastifyInstance, grace: number): Promise<void> {
  const { server } = app
  // Connections that were kept alive become idle one after the other, as their last answer ends.
  const idle = setInterval(() => server.closeIdleConnections(), idleCheckInterval)
  const cut = setTimeout(() => server.closeAllConnections(), grace)
  try {
    await app.close()
  } finally {
    clearInterval(idle)
    clearTimeout(cut)
  }
  const tidied = Promise.withResolvers<void>()
  const tooLong = setTimeout(tidied.resolve, tidyTime)
  void Promise.allSettled(app.transfers).then(() => tidied.resolve())
  await tidied.promise
  clearTimeout(tooLong)
}
