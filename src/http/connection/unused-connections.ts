import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

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
