/** The only network access of adapters. It checks each connection by the address that it goes to, not by its name. */
import { type AgentOptions, type ClientRequest, type ClientRequestArgs, Agent as HttpAgent, request } from 'node:http'
import { Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions, request as requestTls } from 'node:https'
import type { Duplex } from 'node:stream'
import type { HttpRequestOptions, Network } from '../../../adapters/contract.ts'
import { openRelay } from '../../../adapters/relay.ts'
import { createConnect, guardedFetch } from './connect.ts'
import { ClosedAddress, createGuard, type Guard, type Networks, type Resolve } from './guard.ts'

export { isClosedAddress, type Networks, privateNetworks } from './guard.ts'

type OnCreate = (error: Error | null, stream: Duplex) => void
type Created = Duplex | null | undefined

class GuardedHttpAgent extends HttpAgent {
  readonly #guard: Guard

  constructor(guard: Guard, options?: AgentOptions) {
    super(options)
    this.#guard = guard
  }

  override createConnection(target: ClientRequestArgs, onCreate?: OnCreate): Created {
    return connect(this.#guard, target, onCreate, open => super.createConnection(open, onCreate))
  }
}

class GuardedHttpsAgent extends HttpsAgent {
  readonly #guard: Guard

  constructor(guard: Guard, options?: HttpsAgentOptions) {
    super(options)
    this.#guard = guard
  }

  override createConnection(target: ClientRequestArgs, onCreate?: OnCreate): Created {
    return connect(this.#guard, target, onCreate, open => super.createConnection(open, onCreate))
  }
}

/** Checks a host that is an address. Node calls `lookup` only for names, so `lookup` checks those. */
function connect(
  guard: Guard,
  target: ClientRequestArgs,
  onCreate: OnCreate | undefined,
  create: (target: ClientRequestArgs) => Created,
): Created {
  // A socket path leads to a Unix socket of this machine.
  const refusal = target.socketPath ? new ClosedAddress(target.socketPath) : guard.refusal(target.host ?? 'localhost')
  if (!refusal) return create({ ...target, lookup: guard.lookup as NonNullable<ClientRequestArgs['lookup']> })
  if (!onCreate) throw refusal
  onCreate(refusal, undefined as unknown as Duplex)
  return undefined
}

/** Passes on the options of the contract alone, because some others lead around the agent. */
function sendGuarded(url: URL, { method, headers, agent, signal, timeout }: HttpRequestOptions): ClientRequest {
  if (!(agent instanceof GuardedHttpAgent || agent instanceof GuardedHttpsAgent)) {
    throw new TypeError('The agent of a request must be an agent of the network.')
  }
  const send = url.protocol === 'https:' ? requestTls : request
  return send(url, { method, headers, agent, timeout, ...(signal && { signal }) })
}

/** @param options.resolve replaces the system's resolver */
export function createNetwork({ resolve, ...networks }: Networks & { resolve?: Resolve } = {}): Network {
  const guard = createGuard(networks, resolve)
  const sockets = createConnect(guard)
  return {
    httpAgent: options => new GuardedHttpAgent(guard, options),
    httpsAgent: options => new GuardedHttpsAgent(guard, options),
    fetch: guardedFetch(guard),
    request: sendGuarded,
    ...sockets,
    relay: options => openRelay(sockets.connect, options),
  }
}
