import type { FastifyInstance } from 'fastify'
import { type AppError, toAppError } from '../errors.ts'
import type { Services } from '../services/index.ts'
import { originOf } from './authenticate.ts'
import { logError } from './error-handler.ts'

/** Characters of the vendor's own words. */
const maxVendorText = 200

/**
 * `GET ?code=&state=`, or `?error=&error_description=&state=` (RFC 6749, section 4.1.2): where a person's browser comes
 * back to from a vendor's consent page. A `state` works once, so HEAD, which has no effect, is not taken.
 */
export function oauthCallbackRoute(app: FastifyInstance, { authorization }: Services): void {
  app.get('/webhook/callback', { exposeHeadRoute: false }, async (request, reply) => {
    const query = new URLSearchParams(request.raw.url?.split('?', 2)[1] ?? '')
    const callback = { code: query.get('code'), state: query.get('state'), error: query.get('error') }
    reply.type('text/html; charset=utf-8')
    try {
      const { name } = await authorization.complete(callback, originOf(request))
      return page(`“${name}” is connected`, ['Stowage can use the storage now. You may close this page.'])
    } catch (error) {
      const known = toAppError(error)
      logError(known, request)
      reply.status(known.status)
      // Whose state is not good may not put words on a page of this server.
      const isVendor = known.reason === 'AUTHORIZATION_REFUSED'
      return failure(known, isVendor ? (query.get('error_description') ?? query.get('error')) : null, request.id)
    }
  })
}

function failure(error: AppError, vendorText: string | null, requestId: string): string {
  const said = vendorText?.slice(0, maxVendorText).toWellFormed()
  return page('Authorization not completed', [
    `${error.message} Nothing was changed.`,
    ...(said ? [`The storage service said: “${said}”`] : []),
    'Start it again from the settings of the storage provider in Stowage; you may close this page.',
    `Request ${requestId}`,
  ])
}

function page(title: string, paragraphs: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${escapeHtml(title)}</title>
<h1>${escapeHtml(title)}</h1>
${paragraphs.map(text => `<p>${escapeHtml(text)}</p>`).join('\n')}
</html>
`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}
