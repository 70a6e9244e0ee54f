import type { FastifyInstance } from 'fastify'
import { originOf } from '../../../http/authentication.ts'
import type { Services } from '../../../services/index.ts'
import { keepBrowserKey } from './browser-key.ts'
import { sendFailure } from './failure.ts'
import { startConsent } from './operations.ts'
import { html, sendPage } from './page.ts'

/**
 * Adds `GET ?ticket=`, a page that says who asks for consent before the browser goes to the vendor, because the URL may have
 * been sent to another person. The link to the vendor works only in this browser.
 */
export function oauthStartRoute(app: FastifyInstance, { authorization }: Services): void {
  app.get(
    '/oauth/start',
    { exposeHeadRoute: false, config: { operations: { GET: startConsent } } },
    async (request, reply) => {
      const ticket = new URLSearchParams(request.raw.url?.split('?', 2)[1] ?? '').get('ticket') ?? ''
      try {
        const pending = await authorization.pending(ticket, originOf(request))
        const { email, workspaceName, providerName, vendor } = pending
        const url = pending.vendorUrl(keepBrowserKey(request, reply))
        return sendPage(reply, `Give Stowage access to your files at ${vendor}?`, [
          html`<p><b><bdi>${email}</bdi></b> wants to connect a ${vendor} account to the workspace
<b><bdi>${workspaceName}</bdi></b> as the storage <b><bdi>${providerName}</bdi></b>.</p>`,
          html`<p>If you continue and agree there, the files of <strong>your</strong> account become part of this workspace: its
administrators decide who reads, changes and deletes them.</p>`,
          html`<p>Continue only if you started this yourself, or if you trust the sender and want to share your files.
Otherwise close this page.</p>`,
          html`<p><a href="${url}" class="button" rel="noreferrer">Continue to ${vendor}</a></p>`,
          html`<p class="help">Stowage does not check that an email address belongs to the person who registered with it.</p>`,
        ])
      } catch (error) {
        return sendFailure(error, request, reply)
      }
    },
  )
}
