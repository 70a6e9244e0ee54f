import { once } from 'node:events'
import { Agent as HttpAgent, request } from 'node:http'
import { Agent as HttpsAgent, request as requestTls } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type Exclusive, type Host, type Network, StorageError } from '../contract.ts'
import { createPool } from '../pool.ts'
import { openRelay } from '../relay.ts'

export interface TestHost extends Host {
  /** The adapter's warnings, in order. */
  readonly warnings: readonly { message: string; details: Record<string, unknown> }[]
}

/**
 * Returns a host for tests. Its network allows every address.
 *
 * @param options.network one of `networkFaults`
 * @param options.accessToken returns tokens to adapters with OAuth. Without it, they get NEEDS_RECONNECT, as for a provider
 * that nobody has authorized
 */
export function testHost(options: Partial<Pick<Host, 'accessToken' | 'network'>> = {}): TestHost {
  const warnings: TestHost['warnings'][number][] = []
  return {
    warnings,
    signal: new AbortController().signal,
    network: options.network ?? openNetwork,
    exclusively,
    pool: createPool,
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

export const openNetwork: Network = {
  httpAgent: options => new HttpAgent(options),
  httpsAgent: options => new HttpsAgent(options),
  fetch: (input, init) => fetch(input, init),
  request: (url, { signal, ...options }) =>
    (url.protocol === 'https:' ? requestTls : request)(url, { ...options, ...(signal && { signal }) }),
  async connect({ host, port, tls, signal }) {
    signal.throwIfAborted()
    const plain = connectTcp({ host, port, noDelay: true, keepAlive: true })
    const socket = tls ? openNetwork.startTls(plain, { host, ...tls }) : plain
    const onAbort = () => plain.destroy()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await once(socket, tls ? 'secureConnect' : 'connect', { signal })
      return socket.on('error', () => {})
    } catch (error) {
      plain.destroy()
      throw signal.aborted ? signal.reason : error
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  },
  // A test trusts the server that it has started, so it does not check fingerprints.
  startTls: (socket, { fingerprint, ...options }) =>
    connectTls({ ...options, socket, ...(fingerprint !== undefined && { rejectUnauthorized: false }) }).on(
      'error',
      () => {},
    ),
  relay: options => openRelay(openNetwork.connect, options),
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
