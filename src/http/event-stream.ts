import type { FastifyReply } from 'fastify'
import { hijack } from './admission.ts'
import { cutResponse } from './connection/client-abort.ts'
import { write } from './content/send-file.ts'

/** https://html.spec.whatwg.org/multipage/server-sent-events.html */
export interface ServerSentEvent {
  event: string
  /** One line. */
  data: string
}

/** Milliseconds between two comments that keep the connection open. */
const defaultHeartbeat = 12_000
const comment = Buffer.from(':\n\n')

/**
 * Sends events until there are no more. It asks for the next event only after the client's connection has taken the previous
 * one.
 * @param signal aborts when the client disconnects
 * @param heartbeat milliseconds between two comments that keep the connection open
 */
export async function sendEvents(
  reply: FastifyReply,
  events: AsyncIterable<ServerSentEvent>,
  signal: AbortSignal,
  heartbeat = defaultHeartbeat,
): Promise<void> {
  // The last two headers tell proxies not to collect or compress the events, which would delay them.
  reply.headers({
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store, no-transform',
    'X-Accel-Buffering': 'no',
  })
  hijack(reply)
  const response = reply.raw
  const timer = setInterval(() => {
    if (response.writableLength === 0) response.write(comment)
  }, heartbeat).unref()
  try {
    response.writeHead(200, reply.getHeaders() as Record<string, string>)
    await write(response, comment, signal)
    for await (const { event, data } of events) {
      await write(response, Buffer.from(`event: ${event}\ndata: ${data}\n\n`), signal)
    }
    response.end()
  } catch (error) {
    cutResponse(reply, error, signal)
  } finally {
    clearInterval(timer)
  }
}
