/** A server that receives webhooks. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { until } from '../support/until.ts'

export interface Message {
  headers: IncomingHttpHeaders
  body: string
  payload: { type: string; timestamp: string; data: Record<string, never> }
}

export interface Receiver {
  url: string
  messages: Message[]
  /** The status and the headers of the next responses. */
  responds: { status: number; headers?: Record<string, string> }
  /** Resolves with the first message of a type, received before or after the call. */
  first(type: string): Promise<Message>
}

export async function startReceiver(t: Pick<Test, 'teardown'>): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    const body = await text(request)
    receiver.messages.push({ headers: request.headers, body, payload: JSON.parse(body) })
    const { status, headers = {} } = receiver.responds
    response.writeHead(status, headers).end('a response that nobody reads')
  })
  const receiver: Receiver = {
    url: `${await listen(t, server)}/hook`,
    messages: [],
    responds: { status: 204 },
    async first(type) {
      const find = () => receiver.messages.find(({ payload }) => payload.type === type)
      await until(() => find() !== undefined || receiver.messages.map(({ payload }) => payload.type))
      return find() as Message
    },
  }
  return receiver
}

/** Listens on a loopback port until the end of the test. Resolves with the URL, which has no path. */
export async function listen(t: Pick<Test, 'teardown'>, server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : null}`
}

/** Verifies a signature as the specification of Standard Webhooks describes it. */
export function isSigned({ headers, body }: Message, secret: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  return String(headers['webhook-signature']).split(' ').includes(expected)
}
