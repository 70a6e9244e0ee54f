import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns'
import { isIP } from 'node:net'
import { closedAddresses, type Networks } from './addresses.ts'

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
