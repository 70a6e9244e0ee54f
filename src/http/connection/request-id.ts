import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The form of an ID that is taken over from a proxy. Any other text could forge log lines. */
const pattern = /^[\w.-]{8,64}$/

export function requestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && pattern.test(given) ? given : randomUUID()
}
