import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { ClientGone } from '../connection/client-abort.ts'

/**
 * Ends a download whose headers were sent. Cutting the connection tells the client that the content is incomplete.
 * @param signal the signal that the download ran under
 */
export function cutDownload(request: FastifyRequest, response: ServerResponse, error: unknown, signal: AbortSignal) {
  const why = signal.aborted ? signal.reason : error
  const isRefused = why instanceof AppError && why.status < 500
  // A reset discards the bytes that are still queued; they must not be sent any more.
  if (isRefused) response.socket?.resetAndDestroy()
  response.destroy()
  const { log } = request
  if (why instanceof ClientGone) log.info({ req: request }, 'the client disconnected during a download')
  else if (isRefused) log.info({ req: request, reason: why.reason }, 'a download was cut because its grant ended')
  else log.error({ req: request, err: why }, 'a download failed')
}
