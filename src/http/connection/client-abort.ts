/**
 * The exchanges of each connection: a request and its response, until the client has read the response or has disconnected. Work for a
 * request ends with its exchange.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'

/** The client disconnected before the response was complete. */
export class ClientGone extends Error {
  override name = 'ClientGone'
}

/** One request and its response. A listener for each use would cost more than the use. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** `performance.now()` when the headers had arrived. */
  readonly begunAt = performance.now()
  /** `performance.now()` when the route last started or resumed reading the body. */
  readSince = this.begunAt
  /** Called if the body has not arrived in time. */
  onLateBody: (() => void) | null = null
  #controller: AbortController | null = null
  #atEnd: (() => void)[] = []
  #isOver = false

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request
    this.response = response
  }

  /** Aborts when the client disconnects before the response is complete. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#isOver && !this.response.writableFinished) this.#abort()
    }
    return this.#controller.signal
  }

  /** Aborts the work for the request. @param reason becomes the response @returns false if no work has a signal */
  abort(reason: Error): boolean {
    this.#controller?.abort(reason)
    return this.#controller !== null
  }

  /** Calls `end` once, when the response is sent or its connection is closed. */
  atEnd(end: () => void): void {
    if (this.#isOver) end()
    else this.#atEnd.push(end)
  }

  /** @param isComplete the client has read the response */
  end(isComplete: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!isComplete) this.#abort()
    for (const end of this.#atEnd) end()
    this.#atEnd = []
  }

  #abort(): void {
    this.#controller?.abort(new ClientGone('The client closed the connection'))
  }
}

interface OpenConnection {
  /** The exchanges that have not ended, in the order of their requests. Only clients that pipeline have several. */
  open: Set<Exchange>
  /** The exchange that began last, which may have ended. */
  latest: Exchange | null
}

const connections = new WeakMap<Socket, OpenConnection>()

const exchangeKey = Symbol('exchange')

interface Watched extends IncomingMessage {
  [exchangeKey]?: Exchange
}

function connectionOf(socket: Socket): OpenConnection {
  const known = connections.get(socket)
  if (known) return known
  const connection: OpenConnection = { open: new Set(), latest: null }
  connections.set(socket, connection)
  // A response that waits behind others in a pipeline has no socket yet and never emits `close`.
  socket.once('close', () => {
    for (const exchange of connection.open) exchange.end(false)
    connection.open.clear()
  })
  return connection
}

/** Makes `exchangeOf` work in all routes. Call this before you add any route. */
export function watchClients(app: FastifyInstance): void {
  // Each pipelined request adds a listener, so Node's warning about eleven listeners would be a false alarm.
  app.server.on('connection', socket => socket.setMaxListeners(0))
  app.server.prependListener('request', (request: Watched, response) => {
    const connection = connectionOf(request.socket)
    const exchange = new Exchange(request, response)
    request[exchangeKey] = exchange
    connection.open.add(exchange)
    connection.latest = exchange
    response.once('close', () => {
      connection.open.delete(exchange)
      exchange.end(response.writableFinished)
    })
    if (request.socket.destroyed) exchange.end(false)
  })
}

/** Returns the exchange of a request. */
export function exchangeOf(request: Watched): Exchange {
  const exchange = request[exchangeKey]
  if (!exchange) throw new Error('The server does not watch its clients')
  return exchange
}

/** Returns the exchange that began last on a connection, which may have ended; null before the first. */
export function latestExchange(socket: Socket): Exchange | null {
  return connections.get(socket)?.latest ?? null
}

/** Returns the number of requests on a connection that have no complete response. */
export function openExchanges(socket: Socket): number {
  return connections.get(socket)?.open.size ?? 0
}

/** Returns a signal that aborts when the client disconnects before the response is complete. Pass it to all work. */
export function requestSignal({ raw }: Pick<FastifyRequest, 'raw'>): AbortSignal {
  return exchangeOf(raw).signal
}

/**
 * Ends a response whose headers were sent. Cutting the connection tells the client that the content is incomplete. Errors of
 * hijacked replies end here: one that reaches Fastify is logged as a fault, even if only the client has gone.
 * @param signal the signal that the response was made under
 */
export function cutResponse({ request, raw: response }: FastifyReply, error: unknown, signal: AbortSignal): void {
  const why = signal.aborted ? signal.reason : error
  const isRefused = why instanceof AppError && why.status < 500
  // A reset discards the bytes that are still queued; they must not be sent any more.
  if (isRefused) response.socket?.resetAndDestroy()
  response.destroy()
  const { log } = request
  if (why instanceof ClientGone) log.info({ req: request }, 'the client disconnected during a response')
  else if (isRefused) log.info({ req: request, reason: why.reason }, 'a response was cut because its grant ended')
  else log.error({ req: request, err: why }, 'a response was cut by an error')
}
