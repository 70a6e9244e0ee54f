import { type TestHost, testHost } from '../../adapters/conformance/index.ts'
import { createPool } from '../../adapters/pool.ts'
import { createNetwork } from '../../src/storage/network/index.ts'

/** A host for adapters without OAuth, on the real network. It collects warnings in `warnings`. */
export function recordingHost(): TestHost {
  return { ...testHost(), network: createNetwork() }
}

export const silentHost: TestHost = recordingHost()

/** A host whose pools give up early when a server is down. */
export const impatientHost: TestHost = { ...silentHost, pool: options => createPool(options, 300) }
