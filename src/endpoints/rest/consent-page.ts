/** The pages of the OAuth consent and of single sign-on: HTML without scripts that no site can put in a frame. */
import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { toAppError } from '../../errors.ts'
import { logError } from '../../http/error-handler.ts'

/** HTML in which all values are escaped. */
class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Escapes every value that is not `Html`. */
export function html(parts: TemplateStringsArray, ...values: (string | Html)[]): Html {
  const texts = values.map(value => (value instanceof Html ? value.text : escapeHtml(value)))
  return new Html(String.raw({ raw: parts }, ...texts))
}

const style = `
body { max-width: 34rem; margin: 4rem auto; padding: 0 1.5rem; font: 1rem/1.6 system-ui, sans-serif; color: #1c2430; background: #fff }
h1 { font-size: 1.4rem; line-height: 1.3 }
b { overflow-wrap: anywhere }
.button { display: inline-block; padding: .5rem 1rem; border-radius: .4rem; color: #fff; background: #1f5fbf; text-decoration: none }
.help { color: #566274; font-size: .9rem }
@media (prefers-color-scheme: dark) { body { color: #e6eaf0; background: #12161c } .help { color: #a3adba } }
`

const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function sendPage(reply: FastifyReply, title: string, content: readonly Html[]): FastifyReply {
  reply.type('text/html; charset=utf-8').header('Content-Security-Policy', contentSecurityPolicy)
  return reply.send(
    html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${new Html(style)}</style>
<main>
<h1>${title}</h1>
${new Html(content.map(({ text }) => text).join('\n'))}
</main>
</html>
`.text,
  )
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}

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
