/** Builds the console with compressed assets and replaces the previous build at once: `node scripts/build-console.ts [folder]`. */
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { build } from 'vite'

const web = fileURLToPath(new URL('../web', import.meta.url))
const destination = resolve(process.argv[2] ?? join(web, 'dist'))

/** Small files and images are not compressed, because they gain nothing. */
const worthIt = (name: string, bytes: Buffer) => bytes.length > 1024 && /\.(m?js|css|html|svg)$/.test(name)

async function compress(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of entries.filter(entry => entry.isFile())) {
    const file = join(entry.parentPath, entry.name)
    const bytes = await readFile(file)
    if (!worthIt(entry.name, bytes)) continue
    await writeFile(`${file}.br`, await promisify(brotliCompress)(bytes))
    await writeFile(`${file}.gz`, await promisify(gzip)(bytes, { level: 9 }))
  }
}

const made = await mkdtemp(join(dirname(destination), '.dist-'))
try {
  await build({ root: web, logLevel: 'warn', build: { outDir: made, emptyOutDir: true } })
  await compress(made)
  await rm(destination, { recursive: true, force: true })
  // If two processes build at once, the second keeps the build of the first.
  await rename(made, destination).catch(error => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
} finally {
  await rm(made, { recursive: true, force: true })
}
