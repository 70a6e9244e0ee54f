/**
 * Fails when a change raises the size of the installation, the code that a start loads, or the memory of an idle server by a tenth.
 * `node test/footprint.test.ts --update` accepts a rise; the commit says what it is for.
 */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { buildServer } from '../scripts/build/server.ts'
import { databaseSettings } from './servers/postgres.ts'
import { bundled, bundle as bundleOfTests } from './support/bundle.ts'
import { isNight } from './support/extent.ts'
import { residentBytes } from './support/process-tree.ts'
import { startProgram, temporaryFolder } from './support/program.ts'
import { until } from './support/until.ts'

const root = new URL('..', import.meta.url).pathname
const committed = new URL('footprint.json', import.meta.url)
const probe = new URL('support/footprint-probe.js', import.meta.url).href

/** All bytes are those of files or of memory, so none of them depends on the speed of the machine. */
interface Footprint {
  /** The packages that an installation contains, the bundle and the console. */
  installedBytes: number
  /** The modules that a start loads. Their number is not bounded, because the bundler divides the same code differently. */
  codeBytes: number
  /** The heap of an idle server after a garbage collection. */
  heapBytes: number
}

/** Whether the server has a bundle and a database of its own. */
const isWhole = isNight || process.argv.includes('--update')
/** The part by which a figure can rise, in a whole number. */
const tenth = 1.1
/** MB of an idle server and its PostgreSQL, in shared memory counted once (PSS). */
const idleLimit = 170

t.test('the installation, the start and the idle server grow by less than a tenth', async t => {
  const bundle = await builtFor(t)
  const sizes = await Promise.all([...(await installedPackages()), bundle, join(root, 'web/dist')].map(bytesIn))
  const installedBytes = sizes.reduce((sum, size) => sum + size, 0)
  const folder = await temporaryFolder(t)
  const report = join(folder, 'footprint')
  const command = [process.execPath, '--expose-gc', `--import=${probe}`, join(bundle, 'src/main.js')] as const
  // The start of the embedded database takes seconds of processor time.
  const database = isWhole ? {} : await databaseSettings(t)
  const environment = { ...database, PORT: '0', STOWAGE_DATA: join(folder, 'data'), FOOTPRINT: report }
  const server = await startProgram(t, { command: [...command], environment })
  t.equal((await fetch(`${server.url}/readyz`)).status, 200)
  server.process.kill('SIGUSR2')
  await until(() => stat(report).then(() => true, String))
  let idle = Number.POSITIVE_INFINITY
  const isSmall = async () => {
    idle = Math.min(idle, Math.round((await residentBytes(server.process.pid ?? 0)) / 1e6))
    return idle <= idleLimit || idle
  }
  if (isWhole) await until(isSmall)
  t.comment(`idle: ${idle} MB`)
  t.equal(await server.stop(), 0)

  const found: Footprint = { installedBytes, ...JSON.parse(await readFile(report, 'utf8')) }
  if (process.argv.includes('--update')) await writeFile(committed, `${JSON.stringify(found, null, 2)}\n`)
  const before: Footprint = JSON.parse(await readFile(committed, 'utf8'))
  for (const name of Object.keys(before) as (keyof Footprint)[]) {
    t.ok(found[name] <= before[name] * tenth, `${name}: ${found[name]} after ${before[name]}`)
  }
})

/** Returns the folder of the bundle; by day, the one of the tests, which contains a few more programs. */
async function builtFor(t: Test): Promise<string> {
  if (!isWhole) {
    await bundled()
    return bundleOfTests
  }
  // Inside the project, where the bundle finds the packages that it does not contain.
  const bundle = await mkdtemp(join(root, '.dist-'))
  t.teardown(() => rm(bundle, { recursive: true, force: true }))
  await buildServer(bundle)
  return bundle
}

/** The folders of the packages that are installed without development packages. */
async function installedPackages(): Promise<string[]> {
  const lock: { packages: Record<string, { dev?: boolean; devOptional?: boolean; link?: boolean }> } = JSON.parse(
    await readFile(join(root, 'package-lock.json'), 'utf8'),
  )
  const names = Object.entries(lock.packages).flatMap(([name, { dev, devOptional, link }]) =>
    name.startsWith('node_modules/') && !dev && !devOptional && !link ? [join(root, name)] : [],
  )
  const present = await Promise.all(names.map(folder => stat(folder).catch(() => null)))
  return names.filter((_, index) => present[index])
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(
    entry => entry.isFile() && !/node_modules|^\/compiled/.test(entry.parentPath.slice(folder.length)),
  )
  const sizes = await Promise.all(files.map(async file => (await stat(join(file.parentPath, file.name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}
