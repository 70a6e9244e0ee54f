/**
 * Builds the console and GraphiQL with compressed assets: `node scripts/build/console.ts [folder]`. The build of the package
 * names a folder; the assets there have the best compression.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { renderGraphiQL } from '@graphql-yoga/render-graphiql'
import { build } from 'vite'
import { readTranslations } from '../languages/compile.ts'
import { readEnglish } from '../languages/extract.ts'
import { replaceFolder, root } from './folders.ts'
import { buildServiceWorker } from './service-worker.ts'

const web = join(root, 'web')

/** The best quality takes 14 s of processor time, a quality of 8 half a second for 9 % more bytes. */
const qualities = { best: constants.BROTLI_MAX_QUALITY, fast: 8 }

/** Builds the console into `destination`, which it replaces. */
export async function buildConsole(destination: string, compression: keyof typeof qualities): Promise<void> {
  await replaceFolder(destination, async folder => {
    await build({ root: web, logLevel: 'warn', build: { outDir: folder, emptyOutDir: true, manifest: true } })
    await buildServiceWorker(web, folder)
    await compress(folder, qualities[compression])
    await writeShortcuts(join(folder, 'shortcuts.json'))
    await writeGraphiql(join(folder, 'graphiql.html.br'))
  })
}

/** Small files and images are not compressed, because they gain nothing. */
const worthIt = (name: string, bytes: Buffer) => bytes.length > 1024 && /\.(m?js|css|html|svg)$/.test(name)

async function compress(folder: string, quality: number): Promise<void> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality }
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of entries.filter(entry => entry.isFile())) {
    const file = join(entry.parentPath, entry.name)
    const bytes = await readFile(file)
    if (!worthIt(entry.name, bytes)) continue
    await writeFile(`${file}.br`, await promisify(brotliCompress)(bytes, { params }))
    await writeFile(`${file}.gz`, await promisify(gzip)(bytes, { level: 9 }))
  }
}

/** The texts of the shortcuts of the installed console: see src/endpoints/console/manifest.ts. */
const shortcuts = { upload: 'files.uploadFiles', search: 'search.open', recent: 'app.recent' }

async function writeShortcuts(file: string): Promise<void> {
  const english = await readEnglish(join(web, 'src/texts'))
  const names = (await readdir(join(web, 'languages'))).map(name => basename(name, '.json'))
  const ofLanguage = async (tag: string) =>
    [tag, await readTranslations(join(web, 'languages', `${tag}.json`))] as const
  const translations = Object.fromEntries(await Promise.all(names.map(ofLanguage)))
  const texts = Object.fromEntries(
    ['en', ...names].map(tag => [
      tag,
      Object.fromEntries(
        Object.entries(shortcuts).map(([name, key]) => [name, translations[tag]?.[key] ?? english.get(key)?.message]),
      ),
    ]),
  )
  await writeFile(file, JSON.stringify(texts))
}

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

/** Writes the page of GraphiQL, which has 9 MB and loads nothing from other hosts. `graphiql.ts` of the server adds its base path. */
async function writeGraphiql(file: string): Promise<void> {
  const html = renderGraphiQL({ endpoint: '/graphql', title: 'Stowage GraphiQL', defaultQuery })
  // A higher quality takes ten times as long for a tenth of the size.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 8, [constants.BROTLI_PARAM_LGWIN]: 22 }
  await writeFile(file, await promisify(brotliCompress)(html, { params }))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2]
  await (folder === undefined ? buildConsole(join(web, 'dist'), 'fast') : buildConsole(resolve(folder), 'best'))
}
