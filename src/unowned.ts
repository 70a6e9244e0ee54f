import { BlockList, isIPv6 } from 'node:net'
import type { Installation } from './services/people/workspaces.ts'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6')
loopback.addAddress('::1', 'ipv6')

/** Milliseconds. */
const hour = 60 * 60 * 1000

/**
 * Warns regularly while anyone who can connect to the server could become its owner.
 * @param options.hosts addresses that the server listens on
 * @returns a function that ends the warnings
 */
export function warnUntilOwned(options: {
  hosts: readonly string[]
  setupCode: string | null
  installation: () => Promise<Pick<Installation, 'hasOwner'>>
  warn: (message: string) => void
  /** Milliseconds. Default: an hour. */
  interval?: number
}): () => void {
  const { hosts, setupCode, installation, warn, interval = hour } = options
  if (setupCode !== null || hosts.every(isLoopback)) return () => {}
  const check = async () => {
    // Failures of the database are reported elsewhere.
    const found = await installation().catch(() => null)
    if (found?.hasOwner) clearInterval(timer)
    else if (found)
      warn('Anyone who can connect to this server can become its owner: register, or set STOWAGE_SETUP_CODE')
  }
  const timer = setInterval(check, interval).unref()
  void check()
  return () => clearInterval(timer)
}

function isLoopback(host: string): boolean {
  return loopback.check(host, isIPv6(host) ? 'ipv6' : 'ipv4')
}
