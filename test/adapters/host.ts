import { type TestHost, testHost } from '../../adapters/conformance/index.ts'
import type { Pool, Unfinished } from '../../adapters/contract.ts'
import { createPool } from '../../adapters/pool.ts'
import { createNetwork } from '../../src/storage/network/index.ts'

/** A host for adapters without OAuth, on the real network. It collects warnings in `warnings`. */
export function recordingHost(): TestHost {
  return { ...testHost(), network: createNetwork() }
}

export const silentHost: TestHost = recordingHost()

/** A host whose pools give up early when a server is down. */
export const impatientHost: TestHost = { ...silentHost, pool: options => createPool(options, 300) }

/**
 * A host whose providers share one pool of connections, because connecting takes most of the time of a case. Use it for
 * providers that differ only in their folder.
 */
export function sharingHost(t: { teardown(run: () => void): unknown }): TestHost {
  let shared: Pool<never> | undefined
  t.teardown(() => shared?.close())
  return {
    ...impatientHost,
    pool(options) {
      shared ??= impatientHost.pool(options) as Pool<never>
      const pool: Pool<never> = shared
      return { use: (call, work) => pool.use(call, work), take: call => pool.take(call), close() {} }
    },
  }
}

/** The record of a host about an upload: the last state, or undefined after the end. */
export class UploadRecord implements Unfinished {
  state: string | undefined
  readonly all: string[] = []

  async began(state: string): Promise<void> {
    this.all.push(state)
    this.state = state
  }

  async ended(): Promise<void> {
    this.state = undefined
  }
}
