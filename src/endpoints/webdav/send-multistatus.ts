import type { FastifyReply } from 'fastify'
import { hijack } from '../../http/admission.ts'
import { cutResponse } from '../../http/connection/cut-response.ts'
import { write } from '../../http/content/send-file.ts'
import { xmlType } from './errors.ts'
import { multistatusEnd, multistatusStart } from './multistatus.ts'

/** Characters that are collected before they are sent. */
const chunkLength = 128 * 1024

/**
 * Sends a multi-status response while its parts are made, as fast as the client reads. Until the first batch of parts exists, a
 * failure is a proper error response. After that it cuts the connection instead of throwing, so that the client does not
 * mistake a part of the listing for all of it.
 * @param batches each is made while it is sent, so that it never exists as a whole
 */
export async function sendMultistatus(
  reply: FastifyReply,
  signal: AbortSignal,
  batches: AsyncGenerator<Iterable<string>>,
): Promise<void> {
  let batch = await batches.next()
  reply.header('Content-Type', xmlType)
  hijack(reply, chunkLength)
  const response = reply.raw
  let waiting = multistatusStart
  const send = async () => {
    const xml = Buffer.from(waiting)
    waiting = ''
    await write(response, xml, signal)
  }
  try {
    response.writeHead(207, reply.getHeaders() as Record<string, string>)
    for (; !batch.done; batch = await batches.next()) {
      for (const xml of batch.value) {
        waiting += xml
        if (waiting.length >= chunkLength) await send()
      }
      // The next batch can take long.
      if (waiting !== '') await send()
    }
    waiting = multistatusEnd
    await send()
    response.end()
  } catch (error) {
    cutResponse(reply, error, signal)
  } finally {
    await batches.return(undefined)
  }
}
