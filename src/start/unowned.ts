import { isLoopback } from '../lib/loopback.ts'
import type { Installation } from '../services/people/workspaces.ts'

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
