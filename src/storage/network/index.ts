/** The adapters' only way out: each connection is decided on by the address that it really goes to. */
import { type AgentOptions, type ClientRequestArgs, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions } from 'node:https'
import type { Duplex } from 'node:stream'
import type { Network } from '../../../adapters/contract.ts'
import type { Networks } from './addresses.ts'
import { guardedFetch } from './fetch.ts'
import { ClosedAddress, createGuard, type Guard, type Resolve } from './guard.ts'

export { isClosedAddress } from './guard.ts'

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

/** Node looks no address up, only names: each of the two is decided on in its own place. */
function connect(
  guard: Guard,
  target: ClientRequestArgs,
  onCreate: OnCreate | undefined,
  create: (target: ClientRequestArgs) => Created,
): Created {
  // A path is a Unix socket of this machine.
  const refusal = target.socketPath ? new ClosedAddress(target.socketPath) : guard.refusal(target.host ?? 'localhost')
  if (!refusal) return create({ ...target, lookup: guard.lookup as NonNullable<ClientRequestArgs['lookup']> })
  if (!onCreate) throw refusal
  onCreate(refusal, undefined as unknown as Duplex)
  return undefined
}

/** @param options.resolve in place of the system's resolver */
export function createNetwork({ resolve, ...networks }: Networks & { resolve?: Resolve } = {}): Network {
  const guard = createGuard(networks, resolve)
  return {
    httpAgent: options => new GuardedHttpAgent(guard, options),
    httpsAgent: options => new GuardedHttpsAgent(guard, options),
    fetch: guardedFetch(guard),
  }
}
