/**
 * Connections, below the requests that they carry. Sockets enter, and bounded requests leave: their time, size and number have limits.
 *
 * This file bounds the number of connections and of requests in them, and closes the unused ones when the server stops.
 */
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { networkOf } from '../../auth/network.ts'
import { Counts } from '../../lib/counts.ts'
import { openExchanges } from './client-abort.ts'
import type { IsProxy } from './proxies.ts'

/** The total limit, as a multiple of the limit for one network. */
const totalShare = 10
/** Milliseconds between two warnings. */
const logInterval = 60_000

/**
 * Bounds the open connections of each network and of all networks together, idle ones included. Further connections are
 * closed immediately, before they send a request. Proxies in `trusted` carry many clients and count only towards the total.
 * @param limit connections per network; 0 means no limit
 * @param isProxy says whether an address is that of a trusted proxy
 */
export function limitConnections(
  { server }: FastifyInstance,
  { limit, isProxy, log }: { limit: number; isProxy: IsProxy; log: FastifyBaseLogger },
): void {
  if (limit === 0) return
  const open = new Counts<string>()
  let loggedAt = Number.NEGATIVE_INFINITY

  const warn = (facts: object) => {
    if (performance.now() - loggedAt < logInterval) return
    loggedAt = performance.now()
    log.warn(facts, 'Connections are refused because too many are open: see STOWAGE_CONNECTION_LIMIT.')
  }

  // Node closes further connections without emitting `connection`.
  // Without `dropMaxConnection`, several processes pass such a connection to each other without an end.
  Object.assign(server, { maxConnections: limit * totalShare, dropMaxConnection: true })
  server.on('drop', facts => warn({ address: facts?.remoteAddress }))
  server.prependListener('connection', (socket: Socket) => {
    const address = socket.remoteAddress
    if (address === undefined || isProxy(address)) return
    const network = networkOf(address)
    if (open.get(network) >= limit) {
      socket.destroy()
      warn({ address })
      return
    }
    open.add(network)
    socket.once('close', () => open.add(network, -1))
  })
}

/** The maximum number of requests on one connection that wait for their responses. Clients that do not pipeline send one. */
const maxPipelined = 8

/**
 * Closes a connection on which a client sends requests far ahead of their responses. Node parses all requests of a chunk, so the
 * memory for a chunk of small requests would be a thousand times its size. Register this before any other hook.
 */
export function limitPipelines(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw: { socket } }, reply, done) => {
    if (openExchanges(socket) > maxPipelined) socket.destroy()
    // Nobody gets a response, so no other hook needs to run.
    if (socket.destroyed) reply.hijack()
    else done()
  })
}

/**
 * Closes the connections on which no request has begun when the server stops. Browsers open such connections in advance, and
 * Node does not count them as idle until the timeout of the headers.
 */
export function closeUnusedConnections(app: FastifyInstance): void {
  const open = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  app.addHook('preClose', done => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
    done()
  })
}
