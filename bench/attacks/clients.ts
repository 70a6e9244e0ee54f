/** HTTP clients at different addresses of this machine. */
import { Agent, type AgentOptions, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { connect, type Socket } from 'node:net'

/** On Linux, every address in 127.0.0.0/8 is this machine. The server counts each address separately. */
export const addresses = {
  attacker: '127.0.0.2',
  owner: '127.0.0.3',
  bystander: '127.0.0.4',
} as const

export interface Call {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
}

export interface Client {
  /** Resolves with the status when the response has ended. */
  send(call: Call): Promise<number>
  /** Resolves with the text of the response. */
  read(call: Call): Promise<string>
  /** Resolves with the response before its body is read. */
  open(call: Call): Promise<IncomingMessage>
}

/** @param connections the maximum number of open connections */
export function client(url: string, localAddress: string, connections: number, signal: AbortSignal): Client {
  const options: AgentOptions & { localAddress: string } = { keepAlive: true, maxSockets: connections, localAddress }
  const agent = new Agent(options)
  signal.addEventListener('abort', () => agent.destroy(), { once: true })
  const open = ({ path, body, ...call }: Call): Promise<IncomingMessage> => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const options: RequestOptions = { ...call, agent, localAddress }
    const asked = request(url + path, options, resolve)
    asked.on('error', reject)
    asked.end(body)
    return promise
  }
  return {
    open,
    async send(call) {
      const response = await open(call)
      for await (const _ of response) if (signal.aborted) break
      return response.statusCode ?? 0
    },
    async read(call) {
      const response = await open(call)
      return Buffer.concat(await response.toArray()).toString()
    },
  }
}

export function graphql(query: string, variables: object = {}, token?: string): Call {
  return {
    method: 'POST',
    path: '/graphql',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ query, variables }),
  }
}

export function login(email: string, password: string): Call {
  const query = 'mutation ($input: LoginInput!) { login(input: $input) { token } }'
  return graphql(query, { input: { email, password } })
}

export function upload(token: string, providerId: string, path: string, body: string | Buffer): Call {
  const query = new URLSearchParams({ providerId, path })
  const headers = { authorization: `Bearer ${token}`, 'content-length': String(Buffer.byteLength(body)) }
  return { method: 'POST', path: `/api/upload/proxy?${query}`, headers, body }
}

export function socket(url: string, localAddress: string): Socket {
  const { hostname: host, port } = new URL(url)
  return connect({ host, port: Number(port), localAddress })
}
