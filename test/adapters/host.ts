import { type Host, StorageError } from '../../adapters/contract.ts'
import { createNetwork } from '../../src/storage/network/index.ts'

/** A host for adapters without OAuth; what it is warned of is kept in `warnings`. */
export function recordingHost(): Host & { warnings: { message: string; details: Record<string, unknown> }[] } {
  const warnings: { message: string; details: Record<string, unknown> }[] = []
  return {
    warnings,
    network: createNetwork(),
    accessToken: async () => {
      throw new StorageError('NEEDS_RECONNECT', 'This provider has no consent to renew.')
    },
    warn: (message, details = {}) => {
      warnings.push({ message, details })
    },
  }
}

export const silentHost: Host = recordingHost()
