import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Network, StorageProvider } from '../contract.ts'
import { openRelay } from '../relay.ts'
import type { Faults, Undo } from './harness.ts'
import { at, bodyOf, type Case, call, get, has, listAll, makeFolder, namesIn, put } from './kit.ts'
import { openNetwork } from './test-host.ts'

const needs =
  (fault: keyof Faults): NonNullable<Case['needs']> =>
  (_provider, { faults }) =>
    faults?.[fault] ? undefined : `faults.${fault} in the harness`

/** Milliseconds. */
const retryAfterMs = 2000
const second = 1000

export const faultCases: Case[] = [
  {
    name: 'faults: expired credentials are renewed, or reject with UNAUTHORIZED or NEEDS_RECONNECT',
    needs: needs('expireCredentials'),
    async run(provider, { faults }) {
      await put(provider, 'folder/file', 'content')
      const results = await during(faults?.expireCredentials?.(provider), () => everyCall(provider))
      for (const { what, error } of results) if (error) assertCode(what, error, ['UNAUTHORIZED', 'NEEDS_RECONNECT'])
      const failed = results.filter(({ error }) => error)
      assert.ok(failed.length === 0 || failed.length === results.length, `only ${failed[0]?.what} was not renewed`)
      await worksAgain(provider, failed.length === 0)
    },
  },
  {
    name: 'faults: a rate limit rejects with RATE_LIMITED and retryAfterMs, and changes nothing',
    needs: needs('rateLimit'),
    async run(provider, { faults }) {
      await put(provider, 'folder/file', 'content')
      const results = await during(faults?.rateLimit?.(provider, { retryAfterMs }), () => everyCall(provider))
      for (const { what, error } of results) {
        assertCode(what, error, ['RATE_LIMITED'])
        const { retryAfterMs: actual } = error as { retryAfterMs?: unknown }
        // Retry-After is in whole seconds, and part of that time may have passed.
        const isClose = typeof actual === 'number' && actual > 0 && actual <= retryAfterMs + second
        assert.ok(isClose, `${what}: retryAfterMs is ${actual}, but the back end sent ${retryAfterMs}`)
      }
      await worksAgain(provider, false)
    },
  },
  {
    name: 'faults: a back end that is down rejects with UNAVAILABLE, and changes nothing',
    needs: needs('unavailable'),
    async run(provider, { faults }) {
      await put(provider, 'folder/file', 'content')
      const results = await during(faults?.unavailable?.(provider), () => everyCall(provider))
      for (const { what, error } of results) assertCode(what, error, ['UNAVAILABLE'])
      await worksAgain(provider, false)
    },
  },
  {
    name: 'faults: an abort ends the wait between retries',
    needs: (provider, harness) => {
      const lacking = (['rateLimit', 'unavailable'] as const).map(fault => needs(fault)(provider, harness))
      return lacking.includes(undefined) ? undefined : lacking[0]
    },
    async run(provider, { faults }) {
      await put(provider, 'file', 'content')
      const started = faults?.rateLimit?.(provider, { retryAfterMs: 60 * second }) ?? faults?.unavailable?.(provider)
      const reason = new Error('the client went away')
      const outcome = await during(started, async () => {
        const options = { signal: AbortSignal.timeout(100) }
        const controller = new AbortController()
        options.signal.addEventListener('abort', () => controller.abort(reason))
        const calls = [
          provider.stat(at('file'), { signal: controller.signal }),
          provider.write(at('new'), bodyOf('no'), { signal: controller.signal, overwrite: false }),
        ]
        return Promise.allSettled(calls)
      })
      for (const result of outcome) {
        assert.equal(result.status, 'rejected')
        // An adapter that does not retry rejects at once.
        if (result.reason === reason) continue
        assertCode('a call', result.reason, ['RATE_LIMITED', 'UNAVAILABLE'])
      }
      assert.deepEqual(await namesIn(provider, ''), ['file'])
    },
  },
]

interface Outcome {
  what: string
  error: unknown
}

/** Makes one call of each kind, concurrently, on the file of `put(provider, 'folder/file', 'content')`. */
async function everyCall(provider: StorageProvider): Promise<Outcome[]> {
  const body = bodyOf('new')
  const calls: Record<string, Promise<unknown> | undefined> = {
    stat: provider.stat(at('folder/file'), call()),
    'stat of a missing path': isNotFound(provider.stat(at('missing'), call())),
    list: listAll(provider, 'folder'),
    read: get(provider, 'folder/file'),
    write: provider.write(at('new'), body, { ...call(), overwrite: true }),
    mkdir: makeFolder(provider, 'made'),
    'delete of a missing path': provider.delete(at('missing'), call()),
    quota: provider.quota?.(call()),
  }
  const started = Object.entries(calls).filter(([, promise]) => promise !== undefined)
  const results = await Promise.allSettled(started.map(([, promise]) => promise))
  assert.ok(body.destroyed, 'the body of the write was not destroyed')
  return started.map(([what], i) => {
    const result = results[i]
    return { what, error: result?.status === 'rejected' ? result.reason : null }
  })
}

/** Resolves for NOT_FOUND, which shows that the back end works. */
async function isNotFound(stat: Promise<unknown>): Promise<void> {
  try {
    await stat
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'NOT_FOUND')) throw error
  }
}

async function during<T>(started: Promise<Undo> | undefined, work: () => Promise<T>): Promise<T> {
  const undo = await started
  try {
    return await work()
  } finally {
    await undo?.()
  }
}

function assertCode(what: string, error: unknown, codes: readonly string[]): void {
  assert.ok(error instanceof Error, `${what} did not fail`)
  const code = 'code' in error ? String(error.code) : error.stack
  assert.ok(
    codes.includes(code ?? ''),
    `${what} rejected with ${code} (${error.message}) instead of ${codes.join(', ')}`,
  )
  assert.equal(error.name, 'StorageError')
}

async function worksAgain(provider: StorageProvider, written: boolean): Promise<void> {
  await has(provider, 'folder/file', 'content')
  const made = (await namesIn(provider, '')).filter(name => name !== 'made')
  assert.deepEqual(made, written ? ['folder', 'new'] : ['folder'], 'a failed call changed something')
  await put(provider, 'later', 'works')
  await has(provider, 'later', 'works')
}

/** The behavior of a back end during a fault: it sends this response to every request, or refuses connections. */
type Fault = { status: number; headers?: Record<string, string> } | 'refused'

/**
 * Returns a network for `testHost`, and faults for the harness that it simulates for all providers that use it: instead of the back
 * end, connections reach a server that refuses every request. `unavailable` works for every adapter; `expireCredentials` and
 * `rateLimit` for those whose back end speaks HTTP and refuses with 401 and 429. Run no cases at once.
 */
export function networkFaults(): { network: Network; faults: Required<Faults> } {
  /** The port of the server that stands in for the back end; null without a fault. */
  let port: number | null = null
  const agents = new Set<HttpAgent>()
  const sockets = new Set<Socket>()

  /** Ends the connections that were opened before, as they lead to the other server. */
  const endConnections = () => {
    for (const agent of agents) agent.destroy()
    for (const socket of sockets) socket.destroy()
  }

  const start = async (fault: Fault): Promise<Undo> => {
    const server = createServer((request, response) => {
      const { status, headers } = fault === 'refused' ? { status: 503, headers: {} } : { headers: {}, ...fault }
      // A client that still sends a body might not see an earlier response.
      request.resume().once('end', () => response.writeHead(status, { connection: 'close', ...headers }).end())
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port: ownPort } = server.address() as AddressInfo
    if (fault === 'refused') server.close()
    port = ownPort
    endConnections()
    return () => {
      port = null
      endConnections()
      server.closeAllConnections()
      server.close()
    }
  }

  const withFaults = <Agent extends HttpAgent>(agent: Agent): Agent => {
    const usual = agent.createConnection.bind(agent)
    agent.createConnection = (options, callback) =>
      port === null ? usual(options, callback) : connect({ port, host: '127.0.0.1' })
    agents.add(agent)
    return agent
  }
  const standIn = (url: URL) => new URL(`http://127.0.0.1:${port}${url.pathname}${url.search}`)

  const network: Network = {
    httpAgent: options => withFaults(new HttpAgent(options)),
    httpsAgent: options => withFaults(new HttpsAgent(options)),
    fetch(input, init) {
      if (port === null) return openNetwork.fetch(input, init)
      const isRequest = input instanceof Request
      const url = standIn(new URL(isRequest ? input.url : input))
      return openNetwork.fetch(isRequest ? new Request(url, input) : url, init)
    },
    request(url, options) {
      if (port === null) return openNetwork.request(url, options)
      return openNetwork.request(standIn(url), { ...options, agent: new HttpAgent() })
    },
    async connect(options) {
      const { signal } = options
      const socket = await openNetwork.connect(port === null ? options : { host: '127.0.0.1', port, signal })
      sockets.add(socket.once('close', () => sockets.delete(socket)))
      return socket
    },
    startTls: (socket, options) => openNetwork.startTls(socket, options),
    relay: options => openRelay(network.connect, options),
  }
  return {
    network,
    faults: {
      expireCredentials: () => start({ status: 401 }),
      rateLimit: (_, { retryAfterMs }) =>
        start({ status: 429, headers: { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) } }),
      unavailable: () => start('refused'),
    },
  }
}
