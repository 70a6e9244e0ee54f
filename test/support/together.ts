/**
 * Runs several test files in one process, because each process takes two seconds of processor time to load the server. Each file
 * is a subtest with its own timeout and teardown.
 *
 * tap runs files in the order of their paths. Those in `test/_together/` come first, because they take longest and mostly wait: the
 * other files use the processor meanwhile.
 */
import { readdir } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { extent } from './extent.ts'

const root = join(import.meta.dirname, '..')
const scheme = 'together:'
/** Milliseconds for a file that sets no timeout, also on a busy machine. */
const timeout = extent({ gate: 300_000, nightly: 1_800_000 })
/** Milliseconds for all files of a process. */
const timeoutOfAll = extent({ gate: 1_200_000, nightly: 14_400_000 })
const tests = new Map<string, Test>()

/**
 * The folders whose files run together, and those of their files that do not: they measure memory, time or descriptors, or hash
 * passwords at the real cost. `.taprc` lists the ones that run alone, other groups the rest.
 */
export const alone: Readonly<Record<string, readonly string[]>> = {
  adapters: [
    'conformance',
    'local',
    'local-confinement',
    'local-mounts',
    'local-power',
    'local-race',
    'local-small',
    'memory',
  ],
  auth: [],
  catalogue: [],
  cli: [],
  client: [],
  db: [],
  faults: ['floods', 'jobs'],
  graphql: ['abuse', 'response-size'],
  hostile: [],
  http: ['clock', 'download', 'linear-front-ends', 'linear-time', 'memory', 'sockets', 'xml'],
  lib: [],
  log: ['redaction'],
  matrix: [],
  mcp: ['limits'],
  rights: [],
  s3: [],
  servers: [],
  sftp: [],
  services: ['accounts', 'interrupted', 'meters', 'sign-in-queue'],
  storage: [],
  thumbnails: ['hostile'],
  web: [],
  webdav: [],
}

/** Returns the paths of those files of a folder that run together, in their order; for the name of a file, its path. */
export async function filesTogether(folder: string): Promise<string[]> {
  if (folder.endsWith('.test.ts')) return [join(root, folder)]
  const own = new Set(alone[folder]?.map(name => `${name}.test.ts`))
  const names = await readdir(join(root, folder))
  return names
    .filter(name => name.endsWith('.test.ts') && !own.has(name))
    .toSorted()
    .map(name => join(root, folder, name))
}

/** Returns the `tap` of a test file, for the modules that the hook makes. */
export function testOf(url: string): Test {
  const test = tests.get(url)
  if (!test) throw new Error(`${url} does not run together with others.`)
  return test
}

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL = '' } = context
    if (specifier !== 'tap' || !tests.has(parentURL)) return next(specifier, context)
    return { url: `${scheme}${parentURL}`, format: 'module', shortCircuit: true }
  },
  load(url, context, next) {
    if (!url.startsWith(scheme)) return next(url, context)
    const file = JSON.stringify(url.slice(scheme.length))
    const source = `import { testOf } from ${JSON.stringify(import.meta.url)}\nexport default testOf(${file})`
    return { format: 'module', source, shortCircuit: true }
  },
})

/**
 * Runs every `of`-th file of the folders, and of files that run alone otherwise, beginning with the one of number `part`, from 0. Odd parts run theirs from the end, so
 * that parts that run at once are not all busy with the same folder.
 */
export async function together(folders: readonly string[], part = 0, of = 1): Promise<void> {
  const files = (await Promise.all(folders.map(filesTogether))).flat()
  t.setTimeout(timeoutOfAll)
  const chosen = files.filter((_, index) => index % of === part)
  for (const path of part % 2 === 0 ? chosen : chosen.toReversed()) {
    const url = pathToFileURL(path).href
    await t.test(relative(process.cwd(), path), { timeout }, async t => {
      tests.set(url, t)
      await import(url)
    })
  }
}
