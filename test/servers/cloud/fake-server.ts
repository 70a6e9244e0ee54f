import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The HTTP server of a fake cloud storage, on a loopback port. */
export abstract class FakeServer {
  readonly #server = createServer((request, response) => void this.serve(request, response))

  protected abstract serve(request: IncomingMessage, response: ServerResponse): Promise<void>

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
}
