import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { sharedPayload } from '../../http/memory.ts'

const defaultQuery = `# Sign in (the first person calls "register" with the same input):

mutation SignIn {
  login(input: { email: "me@example.org", password: "..." }) {
    token
  }
}

# Then put the token, or an API key, into the Headers tab below:
#
#   { "Authorization": "Bearer <token>" }

query Me {
  me {
    id
    email
  }
  viewer {
    scopes
  }
}
`

interface GraphiqlPage {
  html: Buffer
  policy: string
}

/** Serves GraphiQL at `/graphiql`: one page of 9 MB that loads nothing from other hosts. It is built on first use. */
export function graphiqlRoute(app: FastifyInstance, basePath: string): void {
  let page: Promise<GraphiqlPage> | undefined
  app.get('/graphiql', async (_request, reply) => {
    page ??= render(`${basePath}/graphql`)
    const { html, policy } = await page
    return reply
      .header('content-security-policy', policy)
      .header('cache-control', 'private, max-age=3600')
      .type('text/html; charset=utf-8')
      .send(html)
  })
}

async function render(endpoint: string): Promise<GraphiqlPage> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const html = renderGraphiQL({ endpoint, title: 'Stowage GraphiQL', defaultQuery })
  return { html: sharedPayload(html), policy: contentSecurityPolicy(html) }
}

/** Allows only the page's own scripts (by hash), embedded workers and fonts, and requests to this server. */
function contentSecurityPolicy(html: string): string {
  const hashes = inlineScripts(html).map(script => `'sha256-${createHash('sha256').update(script).digest('base64')}'`)
  return [
    "default-src 'none'",
    `script-src ${hashes.join(' ')}`,
    "style-src 'unsafe-inline'",
    'worker-src blob:',
    'font-src data:',
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

function inlineScripts(html: string): string[] {
  const [open, close] = ['<script>', '</script>']
  const scripts: string[] = []
  let start = html.indexOf(open)
  while (start >= 0) {
    const end = html.indexOf(close, start)
    if (end < 0) break
    scripts.push(html.slice(start + open.length, end))
    start = html.indexOf(open, end)
  }
  return scripts
}
