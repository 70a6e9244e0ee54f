/** Builds the console in a checkout, on the first start and after a change. A package includes the built console. */
import { execFile } from 'node:child_process'
import { access, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { consoleFolder } from '../endpoints/console/pages.ts'

const sources = fileURLToPath(new URL('../../web', import.meta.url))
const clientSources = fileURLToPath(new URL('../../packages/client/src', import.meta.url))
const script = fileURLToPath(new URL('../../scripts/build-console.ts', import.meta.url))

/** @throws Error if the build fails */
export async function prepareConsole(say: (line: string) => void): Promise<void> {
  const isPackage = await access(script).then(
    () => false,
    () => true,
  )
  if (isPackage || (await isFresh())) return
  say('Building the console; this takes some seconds and happens once ...')
  await promisify(execFile)(process.execPath, [script])
}

async function isFresh(): Promise<boolean> {
  const built = await stat(join(consoleFolder, 'index.html')).catch(() => null)
  if (!built) return false
  const inFolder = async (folder: string, recursive: boolean) =>
    (await readdir(folder, { recursive })).map(name => join(folder, name))
  const entries = await Promise.all([
    inFolder(join(sources, 'src'), true),
    inFolder(clientSources, true),
    inFolder(sources, false),
  ])
  const files = entries.flat().filter(path => !/\/web\/(?:dist|node_modules)$/.test(path))
  const times = await Promise.all(files.map(async path => (await stat(path)).mtimeMs))
  return Math.max(...times) <= built.mtimeMs
}
