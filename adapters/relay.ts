import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { pipeline } from 'node:stream'
import type { Call, ConnectOptions, Network, Relay } from './contract.ts'

/** The maximum number of connections of one relay. */
const maxConnections = 64

/**
 * Implements `Network.relay`: connects each client of a loopback port to the server, with `connect`, which checks the address. The
 * connection that shows that the server can be reached is that of the first client.
 */
export async function openRelay(
  connect: Network['connect'],
  { signal, ...target }: ConnectOptions & Call,
): Promise<Relay> {
  let first: Socket | null = await connect({ ...target, signal })
  const ending = new AbortController()
  let failure: unknown
  const sockets = new Set<Socket>([first])

  const toServer = async (): Promise<Socket> => {
    const waiting = first
    first = null
    if (waiting && !waiting.destroyed && !waiting.readableEnded) return waiting
    return await connect({ ...target, signal: ending.signal })
  }
  const relay = async (client: Socket): Promise<void> => {
    sockets.add(client.on('error', () => {}).once('close', () => sockets.delete(client)))
    try {
      const server = await toServer()
      sockets.add(server.once('close', () => sockets.delete(server)))
      if (client.destroyed) server.destroy()
      // Each direction ends by itself, as protocols may close one of them first. A failure ends both.
      const onEnd = (error: Error | null | undefined) => {
        if (!error) return
        client.destroy()
        server.destroy()
      }
      pipeline(client, server, onEnd)
      pipeline(server, client, onEnd)
    } catch (error) {
      failure = error
      client.destroy()
    }
  }

  const listener = createServer({ allowHalfOpen: true, noDelay: true }, client => void relay(client))
  listener.maxConnections = maxConnections
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    host: '127.0.0.1',
    port: (listener.address() as AddressInfo).port,
    get failure() {
      return failure
    },
    close() {
      ending.abort(new Error('The relay is closed.'))
      listener.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
