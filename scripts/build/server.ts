/**
 * Bundles the server and the packages that it uses into few files: `node scripts/build/server.ts [folder]`. A start loads a
 * tenth of the files that the sources and their packages have, and an installation needs only the packages in `external`.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { replaceFolder, root } from './folders.ts'

/** The files that a program or a package opens by name. They keep their paths. */
export const entries = [
  'src/main',
  'src/index',
  'src/start/server-process',
  'src/services/catalogue/content/extractor/process',
  'src/services/renditions/converter/process',
  'src/services/thumbnails/decoder/process',
  'adapters/contract',
  'adapters/conformance/index',
  'adapters/bases/plain/index',
  'adapters/backends/local/small-files/thread',
  'adapters/backends/local/watch-thread',
]

/** Packages with machine code or WebAssembly, among them two that others load only if they are installed, and this package's own metadata. */
const external = [
  '@hyzyla/pdfium',
  'argon2',
  'libheif-js',
  'sharp',
  'sodium-native',
  'cpu-features',
  'pg-native',
  /\.node$/,
  'stowage/package.json',
]

/** Resolves URLs relative to a source as before, although its code moves to a chunk in another folder. */
const keepUrls: Plugin = {
  name: 'keep-urls',
  transform(code, id) {
    if (!code.includes('import.meta.url') || id.includes('/node_modules/')) return null
    const file = relative(root, id).replace(/\.ts$/, '.js')
    return code.replaceAll('import.meta.url', `new URL('${file}', bundleRoot).href`)
  },
  renderChunk(code, { fileName }) {
    if (!code.includes('bundleRoot')) return null
    const up = relative(dirname(fileName), '.') || '.'
    return `const bundleRoot = new URL('${up}/', import.meta.url);\n${code}`
  },
}

/**
 * Bundles the server into `destination`, which it replaces.
 * @param complete adds to the new folder before it replaces the old one
 * @param more entries beside those of the server
 */
export async function buildServer(
  destination: string,
  complete: (folder: string) => void = () => {},
  more: readonly string[] = [],
): Promise<void> {
  const migrations = (await readdir(join(root, 'migrations'))).map(file => `migrations/${basename(file, '.ts')}`)
  const input = Object.fromEntries([...entries, ...migrations, ...more].map(name => [name, join(root, `${name}.ts`)]))
  await using bundle = await rolldown({
    input,
    cwd: root,
    platform: 'node',
    external,
    plugins: [keepUrls],
    // Packages that are CommonJS modules compute paths when they load, but the chunks are ES modules, which have no such variables.
    transform: { define: { __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' } },
  })
  await replaceFolder(destination, async folder => {
    const { output } = await bundle.write({
      dir: folder,
      entryFileNames: '[name].js',
      chunkFileNames: 'chunks/[name]-[hash].js',
      // Names of classes and functions are in messages and in the log.
      keepNames: true,
    })
    const modules = output.flatMap(file => (file.type === 'chunk' ? file.moduleIds : []))
    await writeFile(join(folder, 'LICENSES.txt'), await licensesOf(modules))
    // The compiled code of the bundle, see `cacheCompiled`.
    await mkdir(join(folder, 'compiled'))
    complete(folder)
  })
}

/** Collects the licenses of all bundled packages, which have to accompany their code: each text once, below the packages it is for. */
async function licensesOf(modules: readonly string[]): Promise<string> {
  const folders = new Set(modules.flatMap(id => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []))
  const found = await Promise.all([...folders].sort().map(licenseIn))
  const byText = Map.groupBy(found, ({ text }) => text)
  const sections = [...byText].map(([text, packages]) => [...packages.map(({ title }) => title), '', text].join('\n'))
  return sections.join(`\n${'-'.repeat(80)}\n\n`)
}

async function licenseIn(folder: string): Promise<{ title: string; text: string }> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const files = (await readdir(folder)).filter(file => /^(?:licen[cs]e|copying|notice)/i.test(file))
  const texts = await Promise.all(files.map(file => readFile(join(folder, file), 'utf8')))
  return { title: `${name} ${version} (${license})`, text: texts.join('\n\n') }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildServer(resolve(process.argv[2] ?? 'dist'))
