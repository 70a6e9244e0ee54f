import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { ClientGone } from '../connection/abort.ts'

/**
 * Ends a download whose headers are out: a cut connection is how the client learns that what it has is not whole.
 * @param signal the one that it ran under
 */
export function cutDownload(request: FastifyRequest, response: ServerResponse, error: unknown, signal: AbortSignal) {
  const why = signal.aborted ? signal.reason : error
  const mayNotGoOn = why instanceof AppError && why.status < 500
  // By a reset, as what waits to be sent would still go out otherwise.
  if (mayNotGoOn) response.socket?.resetAndDestroy()
  response.destroy()
  const { log } = request
  if (why instanceof ClientGone) log.info({ req: request }, 'the client went away during a download')
  else if (mayNotGoOn) log.info({ req: request, reason: why.reason }, 'a download was cut, as it may not go on')
  else log.error({ req: request, err: why }, 'a download was cut')
}
