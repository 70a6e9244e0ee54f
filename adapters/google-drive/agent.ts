import type { Agent } from 'node:http'
import type { Network } from '../contract.ts'

/** The agent for Google's client, which asks for one for each redirect. */
export function agentOf(network: Network): (url: URL) => Agent {
  // As Node's own agent, which Google's client would use.
  const options = { keepAlive: true, scheduling: 'lifo' as const, timeout: 5000 }
  const [http, https] = [network.httpAgent(options), network.httpsAgent(options)]
  return url => (url.protocol === 'http:' ? http : https)
}
