import { BlockList, isIPv6, type Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { networkOf } from '../../auth/network.ts'

/** The total limit, as a multiple of the limit for one network. */
const totalShare = 10
/** Milliseconds between two warnings. */
const logInterval = 60_000

/**
 * Bounds the open connections of each network and of all networks together, idle ones included. Further connections are
 * closed immediately, before they send a request. Proxies in `trusted` carry many clients and count only towards the total.
 * @param limit connections per network; 0 means no limit
 * @param trusted addresses or networks in CIDR notation
 */
export function limitConnections(
  { server }: FastifyInstance,
  { limit, trusted, log }: { limit: number; trusted: readonly string[]; log: FastifyBaseLogger },
): void {
  if (limit === 0) return
  const proxies = blockListOf(trusted)
  const open = new Map<string, number>()
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
    if (address === undefined || proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) return
    const network = networkOf(address)
    const others = open.get(network) ?? 0
    if (others >= limit) {
      socket.destroy()
      warn({ address })
      return
    }
    open.set(network, others + 1)
    socket.once('close', () => {
      const remaining = (open.get(network) ?? 1) - 1
      if (remaining === 0) open.delete(network)
      else open.set(network, remaining)
    })
  })
}

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return list
}
