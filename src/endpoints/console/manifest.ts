/** The manifest with which browsers install the console: https://www.w3.org/TR/appmanifest/ */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { nothingHere } from '../../http/error-handler.ts'
import { parseJson } from '../../http/json.ts'
import { text } from '../../http/openapi/operation.ts'
import { parseQuery } from '../../http/url.ts'
import { isRightToLeft } from '../../lib/languages.ts'
import type { Services } from '../../services/index.ts'
import { consoleFolder } from './pages.ts'

const parameters = { language: { description: 'The language of the shortcuts.', schema: text } } as const

/** Characters. Systems cut a longer name below an icon: W3C, "Web Application Manifest", "short_name". */
const maxShortName = 12
/** Characters. A longer line of the branding is a sentence and not a name. */
const maxName = 45
const product = 'Stowage'
/** The ground of the logo, and that of the pages in light colors. */
const color = '#2456c9'
const ground = '#f1f3f8'

/** The texts of the shortcuts by language, which the build of the console takes from the translations. */
type Shortcuts = Readonly<Record<string, Readonly<Record<ShortcutName, string>>>>
type ShortcutName = 'upload' | 'search' | 'recent'

const shortcuts = [
  { name: 'upload', path: '/upload' },
  { name: 'search', path: '/search' },
  { name: 'recent', path: '/recent' },
] as const

/** @param basePath "/stowage"; empty for the root */
export function manifestRoute(app: FastifyInstance, { workspaces }: Services, basePath: string): void {
  app.get('/manifest.webmanifest', { config: { ignoresCookie: true } }, async (request, reply) => {
    const { language = 'en' } = parseQuery(request.raw.url ?? '', parameters)
    const [{ branding }, texts] = await Promise.all([workspaces.installation(), readShortcuts()])
    const known = Object.hasOwn(texts, language) ? language : 'en'
    const words = texts[known]
    const name = branding.text !== '' && branding.text.length <= maxName ? branding.text : product
    const at = (path: string) => `${basePath}${path}`
    const icon = (file: string, size: number, purpose: string) => {
      return { src: at(`/${file}`), sizes: `${size}x${size}`, type: 'image/png', purpose }
    }
    const manifest = {
      id: at('/'),
      name,
      short_name: name.length <= maxShortName ? name : product,
      lang: known,
      dir: isRightToLeft(known) ? 'rtl' : 'ltr',
      start_url: at('/files'),
      scope: at('/'),
      display: 'standalone',
      theme_color: branding.color ?? color,
      background_color: ground,
      icons: [
        icon('icon-192.png', 192, 'any'),
        icon('icon-512.png', 512, 'any'),
        icon('icon-maskable.png', 512, 'maskable'),
        { src: at('/icon.svg'), sizes: 'any', type: 'image/svg+xml', purpose: 'any' },
      ],
      // The service worker answers this request: web/src/app/service-worker.ts.
      share_target: {
        action: at('/upload'),
        method: 'POST',
        enctype: 'multipart/form-data',
        params: { files: [{ name: 'files', accept: ['*/*'] }] },
      },
      shortcuts: words && shortcuts.map(shortcut => ({ name: words[shortcut.name], url: at(shortcut.path) })),
    }
    return reply
      .headers({ 'Cache-Control': 'no-cache' })
      .type('application/manifest+json; charset=utf-8')
      .send(JSON.stringify(manifest))
  })
}

/** Reads the texts for each request, because a checkout can build them again. @throws NOT_FOUND if the console is not built */
async function readShortcuts(): Promise<Shortcuts> {
  const file = await readFile(join(consoleFolder, 'shortcuts.json')).catch(error => {
    throw error.code === 'ENOENT' ? nothingHere() : error
  })
  return parseJson(file) as Shortcuts
}
