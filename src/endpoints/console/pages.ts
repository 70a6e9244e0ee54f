/** Serves the console: the built pages of `web/`. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { nothingHere } from '../../http/error-handler.ts'
import { pages } from './addresses.ts'

/** The folder of the build, both in a checkout and in the package. */
export const consoleFolder = fileURLToPath(new URL('../../../web/dist', import.meta.url))

/** Allows the console's own files, images and text it has fetched, and this server. Its scripts set inline styles. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "media-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  // The form is the ticket of an archive, which the browser saves.
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Shared workers and service workers have the policy of their script, and not that of the page. */
const workerSecurityPolicy = "default-src 'none'; connect-src 'self'; frame-ancestors 'none'"

/** A service worker also loads the icon of notifications. */
const serviceWorkerPolicy = `${workerSecurityPolicy}; img-src 'self'`

/** The pictures of the console in a browser and among the programs of a device: scripts/icons.ts. */
const icons = ['icon.svg', 'icon-192.png', 'icon-512.png', 'icon-maskable.png', 'apple-touch-icon.png']

/** Milliseconds. The names of built files contain a hash of their content, so they never change. */
const aYear = 365 * 24 * 60 * 60 * 1000

export async function consoleRoutes(app: FastifyInstance, basePath: string): Promise<void> {
  await app.register(fastifyStatic, { root: consoleFolder, serve: false, preCompressed: true, cacheControl: false })
  for (const path of pages) {
    app.get(path, async (_request, reply) => {
      reply.headers({
        'Content-Security-Policy': contentSecurityPolicy,
        'Cache-Control': 'no-cache',
        'X-Robots-Tag': 'noindex, nofollow',
      })
      return reply.type('text/html; charset=utf-8').send(await readPage(basePath))
    })
  }
  for (const icon of icons) {
    app.get(`/${icon}`, (_request, reply) => reply.header('Cache-Control', 'max-age=86400').sendFile(icon))
  }
  app.get('/service-worker.js', (_request, reply) => {
    // Browsers ask for it again with each page, so that a new version takes over at once.
    reply.headers({ 'Content-Security-Policy': serviceWorkerPolicy, 'Cache-Control': 'no-cache' })
    return reply.sendFile('service-worker.js')
  })
  app.get<{ Params: { '*': string } }>('/assets/*', (request, reply) => {
    reply.header('Content-Security-Policy', workerSecurityPolicy)
    const name = request.params['*']
    if (!/^[\w-]+(\.[\w-]+)+$/.test(name)) throw nothingHere()
    reply.header('Cache-Control', `max-age=${aYear / 1000}, immutable`)
    return reply.sendFile(`assets/${name}`)
  })
}

/**
 * Reads the page for each visit, because a checkout can build it again. Its build refers to the assets as "./assets".
 * @param basePath the path of a URL, so it contains no quotes
 */
async function readPage(basePath: string): Promise<string> {
  const page = await readFile(join(consoleFolder, 'index.html'), 'utf8').catch(error => {
    throw error.code === 'ENOENT' ? nothingHere() : error
  })
  return page
    .replaceAll('="./', `="${basePath}/`)
    .replace('<meta name="base-path" content="">', `<meta name="base-path" content="${basePath}">`)
}
