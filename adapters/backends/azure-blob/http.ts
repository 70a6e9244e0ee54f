import { createHmac } from 'node:crypto'
import type { ClientRequest, Agent as HttpAgent, IncomingMessage } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import type { LinkHeaders, Network } from '../../contract.ts'

/** The maximum number of connections. Downloads use separate ones, because slow readers can occupy these for long. */
const callSockets = 64
const bodySockets = 1024

/** Milliseconds until a connection is established. */
const connectTime = 10_000

/** Bytes of a response that is not streamed: a page of a listing with long metadata. */
const maxText = 32 * 1024 * 1024

export interface HttpRequest {
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
export class HttpClient {
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
  send(url: URL, { method, headers, body, signal, timeout, isStreamed }: HttpRequest): Promise<IncomingMessage> {
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

/** Reads a response to its end, so that its connection can be used again. @throws errors of sockets */
export async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxText) throw Object.assign(new Error('the response is too long'), { code: 'EMSGSIZE' })
  }
  return Buffer.concat(chunks).toString()
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

/** The version of the REST API: https://learn.microsoft.com/rest/api/storageservices/versioning-for-the-azure-storage-services */
export const apiVersion = '2023-11-03'

/** Names of headers in lowercase. */
export type HttpHeaders = Readonly<Record<string, string>>

interface Account {
  account: string
  key: Buffer
}

/** The signed headers without the prefix `x-ms-`, in order. */
const signedHeaders = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
]

/**
 * Returns the header `authorization` of a request: https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
 * @param query parameters before encoding
 */
export function sharedKey(
  { account, key }: Account,
  { method, path, query, headers }: { method: string; path: string; query: HttpHeaders; headers: HttpHeaders },
): string {
  const values = signedHeaders.map(name => (name === 'content-length' && headers[name] === '0' ? '' : headers[name]))
  const own = Object.keys(headers).filter(name => name.startsWith('x-ms-'))
  const parameters = Object.keys(query)
    .toSorted()
    .map(name => `${name.toLowerCase()}:${bytesOf(query[name] ?? '')}`)
  const text = [
    method,
    ...values,
    ...own.toSorted().map(name => `${name}:${headers[name]?.trim()}`),
    [`/${account}${path}`, ...parameters].join('\n'),
  ].join('\n')
  // Node's headers are in Latin-1.
  return `SharedKey ${account}:${createHmac('sha256', key).update(text, 'latin1').digest('base64')}`
}

/** Returns the bytes of a text in UTF-8 as characters of Latin-1. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1')
}

export interface BlobLink {
  container: string
  /** The name of the blob. */
  key: string
  /** `r` to read, `cw` to create and replace. */
  permissions: 'r' | 'cw'
  expiresAt: Date
  /** True to refuse the link over plain HTTP. */
  isSecure: boolean
  headers?: LinkHeaders | undefined
}

/** Returns the query of a link: https://learn.microsoft.com/rest/api/storageservices/create-service-sas */
export function serviceSas({ account, key: secret }: Account, link: BlobLink): HttpHeaders {
  const { container, key, permissions, expiresAt, isSecure, headers } = link
  // Without fractions, rounded up.
  const expiry = `${new Date(Math.ceil(expiresAt.getTime() / 1000) * 1000).toISOString().slice(0, 19)}Z`
  const protocol = isSecure ? 'https' : ''
  const { contentType = '', contentDisposition = '' } = headers ?? {}
  const text = [
    permissions,
    // The start.
    '',
    expiry,
    `/blob/${account}/${container}/${key}`,
    // A stored policy and a range of addresses.
    '',
    '',
    protocol,
    apiVersion,
    'b',
    // A snapshot, an encryption scope and Cache-Control.
    '',
    '',
    '',
    contentDisposition,
    // Content-Encoding and Content-Language.
    '',
    '',
    contentType,
  ].join('\n')
  return {
    sv: apiVersion,
    ...(protocol && { spr: protocol }),
    se: expiry,
    sr: 'b',
    sp: permissions,
    ...(contentDisposition && { rscd: contentDisposition }),
    ...(contentType && { rsct: contentType }),
    sig: createHmac('sha256', secret).update(text).digest('base64'),
  }
}
