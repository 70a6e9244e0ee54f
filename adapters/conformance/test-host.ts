import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { type Exclusive, type Host, StorageError } from '../contract.ts'

export interface TestHost extends Host {
  /** What the adapter has warned of, in order. */
  readonly warnings: readonly { message: string; details: Record<string, unknown> }[]
}

/**
 * A host for tests. No address is closed to its network.
 *
 * @param options.accessToken hands out tokens to adapters with OAuth; without it they meet NEEDS_RECONNECT, as in a
 * provider that nobody has authorized
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

/** The last caller by name. All hosts of this process share it, as replicas share a database. */
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
