import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns'
import { isIP } from 'node:net'
import { closedAddresses, type Networks } from './addresses.ts'

/** Of `dns.lookup`, asked for all addresses. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void

/** Told by its code: adapters and libraries put it into errors of their own. */
export class ClosedAddress extends Error {
  override name = 'ClosedAddress'
  readonly code = 'ERR_CLOSED_ADDRESS'

  constructor(address: string) {
    super(`${address} is closed to providers: see STOWAGE_ALLOW_NETWORKS`)
  }
}

/** Causes within causes that are looked through. */
const maxDepth = 8

export function isClosedAddress(error: unknown, depth = maxDepth): boolean {
  if (!(error instanceof Error) || depth === 0) return false
  if ('code' in error && error.code === 'ERR_CLOSED_ADDRESS') return true
  return isClosedAddress(error.cause, depth - 1)
}

type LookedUp = (error: Error | null, address: string | LookupAddress[], family?: number) => void

export interface Guard {
  /** Why no connection is made to this host; null for names, which `lookup` decides on. */
  refusal(host: string): ClosedAddress | null
  /** For sockets: they get the very addresses that were decided on. */
  lookup(hostname: string, options: LookupOptions, callback: LookedUp): void
}

/** @param resolve in place of the system's resolver */
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
