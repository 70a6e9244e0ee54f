/** Builds the service worker of the console, which knows the files of the page that the same build made. */
import { createHash } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { build, type Manifest } from 'vite'
import { pages } from '../../src/endpoints/console/addresses.ts'

/** What the console shows without a network: its frame, and the page of kept files. */
const entries = [
  'index.html',
  'src/files/offline/page.tsx',
  'src/app/frame/side-nav.tsx',
  'src/app/frame/bottom-bar.tsx',
]
/** Pages that the worker leaves to the network: a link is for people without an account, too. */
const online = new Set(['/s/*', '/oauth/authorize'])

/** @param folder the built console */
export async function buildServiceWorker(web: string, folder: string): Promise<void> {
  const manifest: Manifest = JSON.parse(await readFile(join(folder, '.vite/manifest.json'), 'utf8'))
  await rm(join(folder, '.vite'), { recursive: true })
  const page = await readFile(join(folder, 'index.html'))
  const files = [...filesOf(manifest, entries), 'icon.svg']
  const version = createHash('sha256').update(page).update(files.join()).digest('hex').slice(0, 16)
  const languages = Object.fromEntries(
    Object.entries(manifest).flatMap(([key, { file }]) => {
      const tag = key.split('language:')[1]
      return tag === undefined ? [] : [[tag, file]]
    }),
  )
  const shell = { version, files, languages, pages: pages.filter(path => !online.has(path)) }
  await build({
    configFile: false,
    root: web,
    logLevel: 'warn',
    define: { __SHELL__: JSON.stringify(shell) },
    build: {
      target: 'es2022',
      outDir: folder,
      emptyOutDir: false,
      copyPublicDir: false,
      lib: {
        entry: join(web, 'src/app/service-worker.ts'),
        // Not all browsers load modules as service workers.
        formats: ['iife'],
        name: 'stowage',
        fileName: () => 'service-worker.js',
      },
    },
  })
}

/** Returns the scripts and styles that some modules need before they run. */
function filesOf(manifest: Manifest, keys: readonly string[]): Set<string> {
  const seen = new Set<string>()
  const files = new Set<string>()
  const add = (key: string) => {
    const chunk = manifest[key]
    if (!chunk || seen.has(key)) return
    seen.add(key)
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file)
    chunk.imports?.forEach(add)
  }
  for (const key of keys) {
    if (!manifest[key]) throw new Error(`The build of the console has no ${key}.`)
    add(key)
  }
  return files
}
