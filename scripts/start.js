/**
 * Runs the command `stowage` in a checkout: `npm start [-- arguments]`. It builds the server, and for a start of the server the
 * console, if they are older than their sources. It is JavaScript, because Node takes longer to load TypeScript.
 */
import { lstatSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

const dist = join(root, 'dist')
const consoleFolder = join(root, 'web/dist')
const [shared, forServer, forConsole] = [
  ['package-lock.json', 'scripts/build', 'packages/client/src'],
  ['src', 'adapters', 'migrations', 'packages/cli/src'],
  ['web/src', 'web/public', 'web/languages', 'web/index.html', 'web/vite.config.ts', 'scripts/languages'],
]

/**
 * Returns the time of the last change of the files and folders, in milliseconds.
 * @param {string[]} paths
 */
function lastChange(paths) {
  /** @param {string} path */
  const below = path =>
    statSync(path).isDirectory()
      ? readdirSync(path, { recursive: true, encoding: 'utf8' }).map(name => join(path, name))
      : []
  const all = paths.map(path => join(root, path)).flatMap(path => [path, ...below(path)])
  return Math.max(...all.map(path => statSync(path).mtimeMs))
}

/**
 * @param {string} built
 * @param {string[]} sources
 */
function isFresh(built, sources) {
  const found = statSync(built, { throwIfNoEntry: false })
  return found !== undefined && lastChange(sources) <= found.mtimeMs
}

/** The package contains the console; here the server finds it through a link. */
function isLinked() {
  return lstatSync(join(dist, 'web'), { throwIfNoEntry: false })?.isSymbolicLink() === true
}

if (!isLinked() || !isFresh(join(dist, 'src/main.js'), [...shared, ...forServer])) {
  const { buildServer } = await import('./build/server.ts')
  await buildServer(dist, folder => symlinkSync('../web', join(folder, 'web')))
}
const startsServer = process.argv.length === 2
if (startsServer && !isFresh(join(consoleFolder, 'index.html'), [...shared, ...forConsole])) {
  process.stdout.write('Building the console; this takes some seconds and happens once ...\n')
  const { buildConsole } = await import('./build/console.ts')
  await buildConsole(consoleFolder, 'fast').catch(error => {
    process.stderr.write(`The console could not be built, and the API works without it: ${error}\n`)
  })
}
await import(join(dist, 'src/main.js'))
