import type { FastifyReply } from 'fastify'
import { AppError } from '../../errors.ts'
import { ClientGone } from './client-abort.ts'

/**
 * Ends a response whose headers were sent. Cutting the connection tells the client that the content is incomplete. Errors of
 * hijacked replies end here: one that reaches Fastify is logged as a fault, even if only the client has gone.
 * @param signal the signal that the response was made under
 */
export function cutResponse({ request, raw: response }: FastifyReply, error: unknown, signal: AbortSignal): void {
  const why = signal.aborted ? signal.reason : error
  const isRefused = why instanceof AppError && why.status < 500
  // A reset discards the bytes that are still queued; they must not be sent any more.
  if (isRefused) response.socket?.resetAndDestroy()
  response.destroy()
  const { log } = request
  if (why instanceof ClientGone) log.info({ req: request }, 'the client disconnected during a response')
  else if (isRefused) log.info({ req: request, reason: why.reason }, 'a response was cut because its grant ended')
  else log.error({ req: request, err: why }, 'a response was cut by an error')
}
