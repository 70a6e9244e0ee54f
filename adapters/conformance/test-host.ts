import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { type Exclusive, type Host, StorageError } from '../contract.ts'

export interface TestHost extends Host {
  /** The adapter's warnings, in order. */
  readonly warnings: readonly { message: string; details: Record<string, unknown> }[]
}

/**
 * Returns a host for tests. Its network allows every address.
 *
 * @param options.accessToken returns tokens to adapters with OAuth. Without it, they get NEEDS_RECONNECT, as for a provider
 * that nobody has authorized
 */
export function testHost(options: Partial<Pick<Host, 'accessToken'>> = {}): TestHost {
  const warnings: TestHost['warnings'][number][] = []
  return {
    warnings,
    network: {
      httpAgent: options => new HttpAgent(options),
      httpsAgent: options => new HttpsAgent(options),
      fetch: (input, init) => fetch(input, init),
    },
    exclusively,
    accessToken:
      options.accessToken ??
      (async () => {
        throw new StorageError('NEEDS_RECONNECT', 'Nobody has authorized this provider.')
      }),
    warn(message, details = {}) {
      warnings.push({ message, details })
    },
  }
}

/** The last call by name. All hosts of this process share this map, as replicas share a database. */
const queues = new Map<string, Promise<unknown>>()

const exclusively: Exclusive = (name, { signal }, work) => {
  const before = queues.get(name) ?? Promise.resolve()
  const turn = before.then(() => {
    signal?.throwIfAborted()
    return work()
  })
  const last = turn.catch(() => {})
  queues.set(name, last)
  void last.then(() => {
    if (queues.get(name) === last) queues.delete(name)
  })
  return turn
}
