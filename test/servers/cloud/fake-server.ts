import { once } from 'node:events'
import { createServer, type IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerWith, type Fault, Faults } from './faults.ts'

/** The HTTP server of a fake cloud storage, on a loopback port. */
export abstract class FakeServer {
  readonly faults = new Faults()
  readonly #server = createServer((request, response) => void this.#serve(request, response))

  /** Answers a request, or throws an error for `sendError`. */
  protected abstract route(request: IncomingMessage, response: ServerResponse, url: string): Promise<void>
  protected abstract readonly sendError: (response: ServerResponse, error: unknown) => void
  /** Returns the vendor's error for a reason. */
  protected abstract readonly errorOf: (reason: string, status?: number, headers?: Record<string, string>) => Error

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}/`
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? '/'
    const method = request.method ?? 'GET'
    const token = request.headers.authorization?.replace(/^Bearer /, '')
    const contentRange = request.headers['content-range']
    response.on('close', () => this.faults.log.push({ method, url, status: response.statusCode, token, contentRange }))
    const refuse = ({ reason, status }: Fault, headers: Record<string, string>) =>
      this.sendError(response, this.errorOf(reason, status, headers))
    try {
      const fault = await this.faults.prepare(method, url)
      if (fault && !fault.executed) return answerWith(fault, request, refuse)
      if (!fault) return await this.route(request, response, url)
      await this.route(request, new ServerResponse(request), url)
      answerWith(fault, request, refuse)
    } catch (error) {
      request.resume()
      this.sendError(response, error)
    }
  }
}
