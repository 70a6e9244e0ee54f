import type { FastifyInstance } from 'fastify'
import { originOf } from '../../../http/authentication.ts'
import type { Services } from '../../../services/index.ts'
import { browserKeyOf } from './browser-key.ts'
import { sendFailure } from './failure.ts'
import { completeConsent } from './operations.ts'
import { html, sendPage } from './page.ts'

/**
 * Adds `GET ?code=&state=` and `?error=&error_description=&state=` (RFC 6749, section 4.1.2), to which a vendor's consent
 * page redirects the browser. A `state` works once, so the route does not accept HEAD.
 */
export function oauthCallbackRoute(app: FastifyInstance, { authorization }: Services): void {
  const config = { operations: { GET: completeConsent } }
  app.get('/webhook/callback', { exposeHeadRoute: false, config }, async (request, reply) => {
    const query = new URLSearchParams(request.raw.url?.split('?', 2)[1] ?? '')
    const callback = { code: query.get('code'), state: query.get('state'), error: query.get('error') }
    try {
      const { name } = await authorization.complete(callback, browserKeyOf(request), originOf(request))
      return sendPage(reply, `“${name}” is connected`, [
        html`<p>Stowage can use the storage now. You can close this page.</p>`,
      ])
    } catch (error) {
      return sendFailure(error, request, reply, query.get('error_description') ?? query.get('error'))
    }
  })
}
