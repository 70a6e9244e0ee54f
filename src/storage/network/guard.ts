/** Decides which addresses providers cannot connect to, because services of the machine or its cloud listen there. */
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns'
import { BlockList, isIP } from 'node:net'

/** The form of `dns.lookup` that returns all addresses. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void

/** Recognize it by its code, with `isClosedAddress`: adapters and libraries wrap it in their own errors. */
export class ClosedAddress extends Error {
  override name = 'ClosedAddress'
  readonly code = 'ERR_CLOSED_ADDRESS'

  constructor(address: string) {
    super(`${address} is closed to providers: see STOWAGE_ALLOW_NETWORKS`)
  }
}

/** The maximum number of nested causes to search. */
const maxDepth = 8

export function isClosedAddress(error: unknown, depth = maxDepth): boolean {
  if (!(error instanceof Error) || depth === 0) return false
  if ('code' in error && error.code === 'ERR_CLOSED_ADDRESS') return true
  return isClosedAddress(error.cause, depth - 1)
}

type LookedUp = (error: Error | null, address: string | LookupAddress[], family?: number) => void

export interface Guard {
  /** Returns the error for a host that is a closed address; null for open ones, and for names, which `lookup` checks. */
  refusal(host: string): ClosedAddress | null
  /** Resolves a name for a socket, which then connects to exactly the addresses that were checked. */
  lookup(hostname: string, options: LookupOptions, callback: LookedUp): void
}

/** @param resolve replaces the system's resolver */
export function createGuard(networks: Networks, resolve: Resolve = systemLookup): Guard {
  const closed = closedAddresses(networks)
  return {
    refusal: host => (isIP(host) !== 0 && closed.includes(host) ? new ClosedAddress(host) : null),
    lookup(hostname, options, callback) {
      resolve(hostname, { ...options, all: true }, (error, found) => {
        if (error) return callback(error, [])
        const open = found.filter(({ address }) => !closed.includes(address))
        const [first] = open
        if (!first) return callback(new ClosedAddress(found[0]?.address ?? hostname), [])
        if (options.all) callback(null, open)
        else callback(null, first.address, first.family)
      })
    },
  }
}

interface ClosedAddresses {
  /** @param address an IP address from DNS or a socket, perhaps with a zone (`fe80::1%eth0`) */
  includes(address: string): boolean
}

export interface Networks {
  /** Exceptions from the closed addresses and from `deny`: `169.254.10.0/24`, `10.0.0.1`. */
  allow?: readonly string[]
  /** Closed in addition. */
  deny?: readonly string[]
}

/** https://www.iana.org/assignments/iana-ipv4-special-registry, iana-ipv6-special-registry */
const special = [
  // "This network": on Linux, 0.0.0.0 and :: lead to the machine itself.
  '0.0.0.0/8',
  '::',
  // Link-local. Most clouds have their metadata service at 169.254.169.254, and AWS has those of containers next to it.
  '169.254.0.0/16',
  'fe80::/10',
  // Multicast, reserved and broadcast.
  '224.0.0.0/3',
  'ff00::/8',
]

/** Metadata services that are not at link-local addresses. */
const metadata = [
  // https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html, and other AWS services
  'fd00:ec2::/32',
  // https://cloud.google.com/compute/docs/metadata/querying-metadata
  'fd20:ce::254',
  // https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
  '168.63.129.16',
  // https://www.alibabacloud.com/help/ecs/user-guide/view-instance-metadata
  '100.100.100.200',
  // https://www.scaleway.com/en/docs/instances/how-to/use-cloud-init/
  'fd00:42::42',
  // Oracle Cloud, classic
  '192.0.0.192',
]

/** The networks that no address of the internet is in, for `deny`: https://www.iana.org/assignments/iana-ipv4-special-registry */
export const privateNetworks: readonly string[] = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  // Carriers share these addresses, and so do VPNs.
  '100.64.0.0/10',
  // Protocols, documentation and measurements.
  '192.0.0.0/24',
  '192.0.2.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '::1',
  // IPv4 in the old form.
  '::/96',
  'fc00::/7',
  'fec0::/10',
  '100::/64',
  '2001::/32',
  '2001:db8::/32',
]

export function closedAddresses({ allow = [], deny = [] }: Networks = {}): ClosedAddresses {
  const closed = listOf([...special, ...metadata, ...deny])
  const open = listOf(allow)
  return {
    includes(address) {
      const bare = address.split('%', 1)[0] ?? ''
      const version = isIP(bare)
      // Text that is not an address is closed.
      if (version === 0) return true
      const family = version === 4 ? 'ipv4' : 'ipv6'
      return closed.check(bare, family) && !open.check(bare, family)
    },
  }
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    if (isIP(address) === 6) {
      list.addSubnet(address, prefix === undefined ? 128 : Number(prefix), 'ipv6')
      continue
    }
    const bits = prefix === undefined ? 32 : Number(prefix)
    list.addSubnet(address, bits, 'ipv4')
    for (const [embedded, start] of embeddings(address)) list.addSubnet(embedded, start + bits, 'ipv6')
  }
  return list
}

/** Returns the IPv6 addresses that embed an IPv4 address, each with the bit at which it begins. BlockList itself handles `::ffff:0:0/96`. */
function embeddings(address: string): [string, number][] {
  const hex = Buffer.from(address.split('.').map(Number)).toString('hex')
  return [
    // NAT64 (RFC 6052, RFC 8215)
    [`64:ff9b::${address}`, 96],
    [`64:ff9b:1::${address}`, 96],
    // SIIT (RFC 2765)
    [`::ffff:0:${address}`, 96],
    // 6to4 (RFC 3056)
    [`2002:${hex.slice(0, 4)}:${hex.slice(4)}::`, 16],
  ]
}
