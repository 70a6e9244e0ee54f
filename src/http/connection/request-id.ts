import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The form of an ID that the server accepts from a proxy. Any other text could forge log lines. */
const pattern = /^[\w.-]{8,64}$/

export function requestId({ headers }: IncomingMessage): string {
  const id = headers['x-request-id']
  return typeof id === 'string' && pattern.test(id) ? id : randomUUID()
}
