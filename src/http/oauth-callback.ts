import type { FastifyInstance } from 'fastify'

/** Characters of the vendor's own words. */
const maxVendorText = 200

/**
 * `GET ?code=&state=`, or `?error=&error_description=&state=` (RFC 6749, section 4.1.2): where a person's browser comes
 * back to from a vendor's consent page. No adapter of this server has started one, so every `state` is unknown.
 */
export function oauthCallbackRoute(app: FastifyInstance): void {
  app.get('/webhook/callback', async (request, reply) => {
    const query = new URLSearchParams(request.raw.url?.split('?', 2)[1] ?? '')
    const vendorText = query.get('error_description') ?? query.get('error')
    reply.status(400).type('text/html; charset=utf-8')
    return page(vendorText)
  })
}

function page(vendorText: string | null): string {
  const said = vendorText
    ? `<p>The storage service said: <q>${escapeHtml(vendorText.slice(0, maxVendorText).toWellFormed())}</q></p>\n`
    : ''
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Authorization not completed</title>
<h1>Authorization not completed</h1>
<p>This authorization is unknown or has expired. Nothing was changed.</p>
${said}<p>Start it again from the settings of the storage provider in Stowage; you may close this page.</p>
</html>
`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}
