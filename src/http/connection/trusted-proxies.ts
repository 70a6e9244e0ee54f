import { BlockList, isIP } from 'node:net'

/** Says whether an address is that of a proxy whose headers are trusted. */
export type IsProxy = (address: string | undefined) => boolean

/** @param networks addresses, or networks in CIDR notation */
export function trustedProxies(networks: readonly string[]): IsProxy {
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
