/**
 * The bundle of the server that the tests start, which `npm run build` would make: a start takes half the processor time of one
 * from the sources. `node test/support/bundle.ts` makes it if the sources have changed.
 */
import { createHash } from 'node:crypto'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
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
  'test/faults',
  'test/support/bundle.ts',
]
/** The command line without the server, and servers with other adapters than the product. */
const ofTests = [
  'packages/cli/src/main',
  'packages/cli/src/index',
  'test/faults/job-server',
  'test/faults/trash-server',
  'test/faults/version-server',
]

let fresh: Promise<void> | undefined

/** Resolves when the bundle has the sources of this process. */
export function bundled(): Promise<void> {
  fresh ??= refresh()
  return fresh
}

async function refresh(): Promise<void> {
  const state = await stateOfSources()
  if (stateOfBundle() === state) return
  const complete = (folder: string) => {
    // Another test file has built at the same time, and its servers already use the bundle.
    if (stateOfBundle() === state) throw new AlreadyBuilt()
    // The package contains the console.
    symlinkSync(join(root, 'web'), join(folder, 'web'))
    // Like the package, which reads its own version. Without the type, each start parses the modules once more to find out what they are.
    const { name, version, type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const exports = { './package.json': './package.json' }
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version, type, exports }))
    writeFileSync(join(folder, 'state'), state)
  }
  await buildServer(bundle, complete, ofTests).catch(error => {
    if (!(error instanceof AlreadyBuilt)) throw error
  })
}

class AlreadyBuilt extends Error {}

function stateOfBundle(): string | null {
  try {
    return readFileSync(join(bundle, 'state'), 'utf8')
  } catch {
    return null
  }
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
