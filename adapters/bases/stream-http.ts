/**
 * HTTP with Node's own streams, for requests whose bodies or responses are files: they cost less than the streams of `fetch`, and are
 * not decompressed.
 */
import type { ClientRequest, Agent as HttpAgent, IncomingMessage } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import type { Network } from '../contract.ts'

/** Names of headers in lowercase. */
export type HttpHeaders = Readonly<Record<string, string>>

/** The maximum number of connections. Downloads use separate ones, because slow readers can occupy these for long. */
const callSockets = 64
const bodySockets = 1024

/** Milliseconds until a connection is established. */
const connectTime = 10_000

interface StreamRequest {
  method: string
  headers: HttpHeaders
  body?: Buffer | Readable | undefined
  signal?: AbortSignal | undefined
  /** Milliseconds without a byte. */
  timeout: number
  /** True where the caller reads the body of the response itself, as slowly as it likes. */
  isStreamed: boolean
}

/** Sends requests once, over connections that are reused. */
export class StreamHttp {
  readonly #network: Network
  readonly #calls: HttpAgent
  readonly #bodies: HttpAgent
  readonly #uploads: HttpAgent

  constructor(network: Network, protocol: string) {
    this.#network = network
    const options = { keepAlive: true, maxFreeSockets: 32, scheduling: 'lifo' as const }
    const agent = (own: object) => (protocol === 'https:' ? network.httpsAgent(own) : network.httpAgent(own))
    this.#calls = agent({ ...options, maxSockets: callSockets })
    this.#bodies = agent({ ...options, maxSockets: bodySockets })
    // A streamed body cannot be sent again if an idle connection turns out to be closed, so it gets a new one.
    this.#uploads = agent({ maxSockets: bodySockets })
  }

  /** Resolves when the response begins. @throws errors of sockets; the error of the body */
  send(url: URL, { method, headers, body, signal, timeout, isStreamed }: StreamRequest): Promise<IncomingMessage> {
    const agent = body instanceof Readable ? this.#uploads : isStreamed ? this.#bodies : this.#calls
    return new Promise((resolve, reject) => {
      const request = this.#network.request(url, { method, headers, agent, signal, timeout })
      request.on('error', reject)
      request.on('timeout', () => {
        request.destroy(Object.assign(new Error('no byte arrived in time'), { code: 'ETIMEDOUT' }))
      })
      request.on('response', response => {
        // The reader of a stream has timers of its own.
        if (isStreamed && (response.statusCode ?? 500) < 300) request.setTimeout(0)
        resolve(response)
      })
      boundConnecting(request)
      if (body instanceof Readable) pipeline(body, request, error => error && reject(error))
      else request.end(body)
    })
  }

  close(): void {
    for (const agent of [this.#calls, this.#bodies, this.#uploads]) agent.destroy()
  }
}

function boundConnecting(request: ClientRequest): void {
  request.on('socket', socket => {
    if (!socket.connecting) return
    const error = Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' })
    const timer = setTimeout(() => request.destroy(error), connectTime)
    socket.once('connect', () => clearTimeout(timer))
    request.once('close', () => clearTimeout(timer))
  })
}
