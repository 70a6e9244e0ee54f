import { once } from 'node:events'
import { createServer, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Network } from '../contract.ts'
import { openRelay } from '../relay.ts'
import type { Faults, Undo } from './harness.ts'
import { openNetwork } from './test-host.ts'

/** What a back end does during a fault: it sends this response to every request, or refuses connections. */
type Fault = { status: number; headers?: Record<string, string> } | 'refused'

/**
 * Returns a network for `testHost`, and faults for the harness that it simulates for all providers that use it: instead of the back
 * end, connections reach a server that refuses every request. `unavailable` works for every adapter; `expireCredentials` and
 * `rateLimit` for those whose back end speaks HTTP and refuses with 401 and 429. Run no cases at once.
 */
export function networkFaults(): { network: Network; faults: Required<Faults> } {
  /** The port of the server that stands in for the back end; null without a fault. */
  let port: number | null = null
  const agents = new Set<HttpAgent>()
  const sockets = new Set<Socket>()

  /** Ends the connections that were opened before, as they lead to the other server. */
  const endConnections = () => {
    for (const agent of agents) agent.destroy()
    for (const socket of sockets) socket.destroy()
  }

  const start = async (fault: Fault): Promise<Undo> => {
    const server = createServer((request, response) => {
      const { status, headers } = fault === 'refused' ? { status: 503, headers: {} } : { headers: {}, ...fault }
      // A client that still sends a body might not see an earlier response.
      request.resume().once('end', () => response.writeHead(status, { connection: 'close', ...headers }).end())
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port: ownPort } = server.address() as AddressInfo
    if (fault === 'refused') server.close()
    port = ownPort
    endConnections()
    return () => {
      port = null
      endConnections()
      server.closeAllConnections()
      server.close()
    }
  }

  const withFaults = <Agent extends HttpAgent>(agent: Agent): Agent => {
    const usual = agent.createConnection.bind(agent)
    agent.createConnection = (options, callback) =>
      port === null ? usual(options, callback) : connect({ port, host: '127.0.0.1' })
    agents.add(agent)
    return agent
  }
  const standIn = (url: URL) => new URL(`http://127.0.0.1:${port}${url.pathname}${url.search}`)

  const network: Network = {
    httpAgent: options => withFaults(new HttpAgent(options)),
    httpsAgent: options => withFaults(new HttpsAgent(options)),
    fetch(input, init) {
      if (port === null) return openNetwork.fetch(input, init)
      const isRequest = input instanceof Request
      const url = standIn(new URL(isRequest ? input.url : input))
      return openNetwork.fetch(isRequest ? new Request(url, input) : url, init)
    },
    request(url, options) {
      if (port === null) return openNetwork.request(url, options)
      return openNetwork.request(standIn(url), { ...options, agent: new HttpAgent() })
    },
    async connect(options) {
      const { signal } = options
      const socket = await openNetwork.connect(port === null ? options : { host: '127.0.0.1', port, signal })
      sockets.add(socket.once('close', () => sockets.delete(socket)))
      return socket
    },
    startTls: (socket, options) => openNetwork.startTls(socket, options),
    relay: options => openRelay(network.connect, options),
  }
  return {
    network,
    faults: {
      expireCredentials: () => start({ status: 401 }),
      rateLimit: (_, { retryAfterMs }) =>
        start({ status: 429, headers: { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) } }),
      unavailable: () => start('refused'),
    },
  }
}
