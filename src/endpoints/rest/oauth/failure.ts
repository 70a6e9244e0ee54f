import type { FastifyReply, FastifyRequest } from 'fastify'
import { toAppError } from '../../../errors.ts'
import { logError } from '../../../http/error-handler.ts'
import { html, sendPage } from './page.ts'

/** The maximum number of characters of the vendor's text. */
const maxVendorText = 200

/** @param vendorText the vendor's explanation in its redirect */
export function sendFailure(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  vendorText: string | null = null,
): FastifyReply {
  const error = toAppError(thrown)
  logError(error, request)
  // Without a valid state, anyone could put text on a page of this server.
  const explanation =
    error.reason === 'AUTHORIZATION_REFUSED' ? vendorText?.slice(0, maxVendorText).toWellFormed() : null
  return sendPage(reply.status(error.status), 'Authorization not completed', [
    html`<p>${error.message} Nothing was changed.</p>`,
    ...(explanation ? [html`<p>The storage service said: “${explanation}”</p>`] : []),
    html`<p>Start again from the settings of the storage provider in Stowage. You can close this page.</p>`,
    html`<p class="help">Request ${request.id}</p>`,
  ])
}
