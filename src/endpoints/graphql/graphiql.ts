/** Serves GraphiQL at `/graphiql`: one page of 9 MB that loads nothing from other hosts. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { nothingHere } from '../../http/error-handler.ts'
import { sharedPayload } from '../../http/memory.ts'

/** The build of the console creates it. */
const file = fileURLToPath(new URL('../../../web/dist/graphiql.html.br', import.meta.url))

interface GraphiqlPage {
  html: Buffer
  policy: string
}

export function graphiqlRoute(app: FastifyInstance, basePath: string): void {
  let page: Promise<GraphiqlPage> | undefined
  app.get('/graphiql', async (_request, reply) => {
    page ??= readPage(basePath).catch(error => {
      page = undefined
      throw error.code === 'ENOENT' ? nothingHere() : error
    })
    const { html, policy } = await page
    return reply
      .header('content-security-policy', policy)
      .header('cache-control', 'private, max-age=3600')
      .type('text/html; charset=utf-8')
      .send(html)
  })
}

/** @param basePath the path of a URL, so it contains no quotes */
async function readPage(basePath: string): Promise<GraphiqlPage> {
  const built = await promisify(brotliDecompress)(await readFile(file))
  const html = built.toString().replace('"endpoint":"/graphql"', `"endpoint":"${basePath}/graphql"`)
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
