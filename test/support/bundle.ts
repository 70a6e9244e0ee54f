/**
 * The bundle of the server that the tests start, which `npm run build` would make: a start takes half the processor time of one
 * from the sources. `node test/support/bundle.ts` makes it if the sources have changed.
 */
import { createHash } from 'node:crypto'
import { symlinkSync, writeFileSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildServer } from '../../scripts/build/server.ts'

const root = new URL('../..', import.meta.url).pathname
/** Inside the project, where the bundle finds the packages that it does not contain. */
export const bundle = join(root, 'node_modules/.cache/stowage')
const sources = [
  'package-lock.json',
  'scripts/build',
  'src',
  'adapters',
  'migrations',
  'packages/client/src',
  'packages/cli/src',
]

let fresh: Promise<void> | undefined

/** Resolves when the bundle has the sources of this process. */
export function bundled(): Promise<void> {
  fresh ??= refresh()
  return fresh
}

async function refresh(): Promise<void> {
  const state = await stateOfSources()
  const built = await readFile(join(bundle, 'state'), 'utf8').catch(() => null)
  if (built === state) return
  await buildServer(bundle, folder => {
    // The package contains the console.
    symlinkSync(join(root, 'web'), join(folder, 'web'))
    writeFileSync(join(folder, 'state'), state)
  })
}

/** Returns a text that differs after a change of any source. */
async function stateOfSources(): Promise<string> {
  const below = sources.map(async source => {
    const path = join(root, source)
    const isFile = (await stat(path)).isFile()
    return isFile ? [path] : (await readdir(path, { recursive: true })).map(name => join(path, name))
  })
  const paths = (await Promise.all(below)).flat().toSorted()
  const states = paths.map(async path => {
    const { mtimeMs, size } = await stat(path)
    return `${path} ${mtimeMs} ${size}`
  })
  return createHash('sha256')
    .update((await Promise.all(states)).join('\n'))
    .digest('hex')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundled()
