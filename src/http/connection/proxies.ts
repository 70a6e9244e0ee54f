/** Recognizes the trusted proxies in front of the server, and warns about one that is not trusted. */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'

/** Says whether an address is that of a proxy whose headers are trusted. */
export type IsProxy = (address: string | undefined) => boolean

/** @param networks addresses, or networks in CIDR notation */
export function trustedProxies(networks: readonly string[]): IsProxy {
  if (networks.length === 0) return () => false
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    if (prefix === undefined) list.addAddress(address, familyOf(address) ?? 'ipv4')
    else list.addSubnet(address, Number(prefix), familyOf(address) ?? 'ipv4')
  }
  return (address = '') => {
    const family = familyOf(address)
    return family !== null && list.check(address, family)
  }
}

/** Returns null for any other text, which a proxy can send as an address. */
function familyOf(address: string): 'ipv4' | 'ipv6' | null {
  const version = isIP(address)
  if (version === 0) return null
  return version === 6 ? 'ipv6' : 'ipv4'
}

/**
 * Warns once if no proxy is trusted but a request seems to come through one: the limits and the log then see one address
 * for all of its clients. Anyone can send such a header, so this changes nothing else.
 */
export function warnOfUntrustedProxy({ server }: FastifyInstance, log: FastifyBaseLogger): void {
  const inspect = ({ headers, socket }: IncomingMessage) => {
    const isForwarded = headers['x-forwarded-for'] !== undefined
    if (!isForwarded && headers.forwarded === undefined) return
    server.off('request', inspect)
    const address = socket.remoteAddress
    const setting = `set STOWAGE_TRUST_PROXY to its address, ${address}`
    log.warn(
      { address },
      isForwarded
        ? `A request came with X-Forwarded-For, which was ignored because no proxy is trusted. If it came through your proxy, ${setting}: until then all clients of the proxy count as one address and share its limits.`
        : `A request came with Forwarded, which this server does not support. If it came through your proxy, make the proxy send X-Forwarded-For, and ${setting}: until then all clients of the proxy count as one address and share its limits.`,
    )
  }
  server.on('request', inspect)
}
