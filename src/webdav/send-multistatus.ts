import type { FastifyReply } from 'fastify'
import { cutResponse } from '../http/connection/cut-response.ts'
import { write } from '../http/content/send-file.ts'
import { xmlType } from './errors.ts'
import { multistatusEnd, multistatusStart } from './multistatus.ts'

/**
 * Sends a multi-status response part by part. After the headers, a failure cuts the connection instead of throwing, so that the
 * client does not take the part of a folder for all of it.
 */
export async function sendMultistatus(
  reply: FastifyReply,
  signal: AbortSignal,
  work: (send: (responses: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  reply.header('Content-Type', xmlType)
  reply.hijack()
  const response = reply.raw
  let waiting = multistatusStart
  const send = async (responses: string) => {
    const xml = Buffer.from(waiting + responses)
    waiting = ''
    await write(response, xml, signal)
  }
  try {
    response.writeHead(207, reply.getHeaders() as Record<string, string>)
    await work(send)
    await send(multistatusEnd)
    response.end()
  } catch (error) {
    cutResponse(reply, error, signal)
  }
}
