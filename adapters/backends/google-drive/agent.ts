import type { Agent } from 'node:http'
import type { Network } from '../../contract.ts'

/** Returns the agents for Google's client, which chooses one for each redirect. */
export function agentOf(network: Network): (url: URL) => Agent {
  // The options of Node's default agent, which Google's client would use otherwise.
  const options = { keepAlive: true, scheduling: 'lifo' as const, timeout: 5000 }
  const [http, https] = [network.httpAgent(options), network.httpsAgent(options)]
  return url => (url.protocol === 'http:' ? http : https)
}
