import { BlockList, isIP } from 'node:net'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6')
loopback.addAddress('::1', 'ipv6')

/** Returns whether only this machine can reach an address or a host of a URL. */
export function isLoopback(host: string): boolean {
  const address = host.startsWith('[') ? host.slice(1, -1) : host
  const family = isIP(address)
  return family === 0 ? address === 'localhost' : loopback.check(address, family === 6 ? 'ipv6' : 'ipv4')
}
