/** An HTTP proxy that simulates the faults of networks and busy servers. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The fault of one request. */
export type Fault =
  /** The proxy itself responds. The body can depend on the request's body. */
  | { answer: { status: number; headers?: Record<string, string>; body?: string | ((sent: string) => string) } }
  /** The connection breaks after this many bytes of the request's body. */
  | { cutRequestAfter: number }
  /** The connection breaks after this many bytes of the response's body. */
  | { cutAnswerAfter: number }
  /** The response stalls after this many bytes of its body. */
  | { stallAnswerAfter: number }
  /** The server gets the request after this promise. */
  | { holdUntil: Promise<unknown> }
  /** The server handles the request, and its response waits for this promise, or for what the function then returns. */
  | { answerAfter: Promise<unknown> | (() => Promise<unknown>) }
  /** The server handles the request, and its response is lost. */
  | 'lose answer'
  /** The request never gets a response. */
  | 'stall'

export interface FaultProxy {
  endpoint: string
  /** Returns the fault of a request; undefined passes the request on. */
  fault: ((request: IncomingMessage) => Fault | undefined) | undefined
}

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

export async function faultProxy(t: Scope, upstream: string): Promise<FaultProxy> {
  const { hostname, port } = new URL(upstream)
  const server = createServer((req, res) => {
    const fault = proxy.fault?.(req)
    if (fault === 'stall') return
    if (fault && typeof fault === 'object' && 'answer' in fault) answer(req, res, fault)
    else if (fault && typeof fault === 'object' && 'holdUntil' in fault) {
      void fault.holdUntil.then(() => pass(req, res, undefined))
    } else pass(req, res, fault)
  })
  const proxy: FaultProxy = { endpoint: '', fault: undefined }

  function pass(
    req: IncomingMessage,
    res: ServerResponse,
    fault: Exclude<Fault, { answer: object } | { holdUntil: unknown }> | undefined,
  ): void {
    const { method, url, headers } = req
    const outgoing = request({ hostname, port, method, path: url, headers, agent: false })
    const cut = () => {
      outgoing.destroy()
      req.socket.destroy()
    }
    outgoing.on('error', cut)
    req.on('error', cut)
    res.on('close', () => outgoing.destroy())
    let received = 0
    req.on('data', (chunk: Buffer) => {
      received += chunk.length
      if (typeof fault === 'object' && 'cutRequestAfter' in fault && received > fault.cutRequestAfter) return cut()
      if (outgoing.write(chunk)) return
      req.pause()
      outgoing.once('drain', () => req.resume())
    })
    req.on('end', () => outgoing.end())
    outgoing.on('response', async incoming => {
      incoming.on('error', cut)
      if (typeof fault === 'object' && 'answerAfter' in fault) {
        const { answerAfter } = fault
        await (typeof answerAfter === 'function' ? answerAfter() : answerAfter)
      }
      if (fault === 'lose answer') {
        incoming.resume().on('end', cut)
        return
      }
      res.writeHead(incoming.statusCode ?? 502, incoming.headers)
      if (typeof fault !== 'object') {
        incoming.pipe(res)
        return
      }
      const limit =
        'cutAnswerAfter' in fault
          ? fault.cutAnswerAfter
          : 'stallAnswerAfter' in fault
            ? fault.stallAnswerAfter
            : Number.POSITIVE_INFINITY
      let sent = 0
      incoming.on('data', (chunk: Buffer) => {
        const piece = chunk.subarray(0, limit - sent)
        sent += piece.length
        res.write(piece)
        if (sent < limit) return
        incoming.pause()
        if ('cutAnswerAfter' in fault) setImmediate(cut)
      })
      incoming.on('end', () => res.end())
    })
  }

  server.on('clientError', (_, socket) => socket.destroy())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  })
  proxy.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return proxy
}

function answer(req: IncomingMessage, res: ServerResponse, { answer }: Extract<Fault, { answer: object }>): void {
  const chunks: Buffer[] = []
  req.on('data', (chunk: Buffer) => chunks.push(chunk))
  req.on('end', () => {
    const sent = `${req.method} ${req.url}\n${req.rawHeaders.join('\n')}\n${Buffer.concat(chunks)}`
    const body = typeof answer.body === 'function' ? answer.body(sent) : answer.body
    res.writeHead(answer.status, answer.headers)
    res.end(req.method === 'HEAD' ? undefined : body)
  })
}
