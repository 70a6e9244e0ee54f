import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, normalize, relative } from 'node:path'
import t from 'tap'
import { entries } from '../scripts/build/server.ts'

/**
 * The folders that each folder may import, besides itself and the adapter contract. Front ends do not import each other.
 * app.ts composes all layers. The files of start/ and main.ts start it.
 */
const shared = ['src/services', 'src/lib', 'src/storage', 'src/auth', 'src/db', 'src/settings', 'src/errors.ts']
const mayImport: Record<string, readonly string[]> = {
  'src/endpoints/applications': ['src/http', ...shared],
  'src/endpoints/graphql': ['src/http', ...shared],
  'src/endpoints/rest': ['src/http', ...shared],
  'src/endpoints/tus': ['src/http', ...shared],
  'src/endpoints/console': ['src/http', ...shared],
  'src/endpoints/mcp': ['src/http', ...shared],
  'src/endpoints/s3': ['src/http', ...shared],
  'src/endpoints/scim': ['src/http', ...shared],
  'src/endpoints/sftp': ['src/http', ...shared],
  'src/endpoints/webdav': ['src/http', ...shared],
  'src/http': shared,
  'src/services': ['src/storage', 'src/auth', 'src/db', 'src/lib', 'src/errors.ts'],
  'src/storage': ['src/auth', 'src/db', 'src/lib', 'src/errors.ts'],
  'src/db': ['src/auth', 'src/lib', 'src/errors.ts'],
  'src/auth': ['src/lib', 'src/errors.ts'],
  // One mechanism of each kind, for all layers.
  'src/lib': ['src/errors.ts'],
  'src/errors.ts': [],
  'src/settings': ['src/errors.ts'],
  'src/start/background.ts': ['src/services', 'src/lib'],
  'src/start/doctor': ['src/services', 'src/db', 'src/auth', 'src/lib', 'src/settings', 'src/start/data-folder.ts'],
  'src/start/apply': ['src/services', 'src/db', 'src/auth', 'src/errors.ts'],
  'src/start/adapter-test': ['adapters', 'src/storage', 'src/settings', 'src/errors.ts'],
  'src/start/compile-cache.ts': [],
  'src/start/data-folder.ts': ['adapters', 'src/settings', 'src/errors.ts'],
  'src/log': ['src/settings', 'src/lib'],
  'src/metrics': ['src/settings', 'src/lib'],
  'src/tracing': ['src/lib'],
  adapters: [],
  migrations: [],
  // The console: the app composes its parts, which do not import each other.
  'web/src/main.tsx': ['web/src/app', 'web/src/ui', 'web/src/texts'],
  'web/src/texts': [],
  'web/src/lib': ['web/src/texts'],
  'web/src/app': [
    'web/src/account',
    'web/src/files',
    'web/src/jobs',
    'web/src/settings',
    'web/src/shares',
    'web/src/storages',
    'web/src/ui',
    'web/src/api',
    'web/src/lib',
    'web/src/texts',
  ],
  'web/src/account': ['web/src/ui', 'web/src/api', 'web/src/lib', 'web/src/texts'],
  'web/src/files': ['web/src/ui', 'web/src/api', 'web/src/lib', 'web/src/texts'],
  'web/src/jobs': ['web/src/ui', 'web/src/api', 'web/src/lib', 'web/src/texts'],
  'web/src/settings': ['web/src/ui', 'web/src/api', 'web/src/lib', 'web/src/texts'],
  'web/src/shares': ['web/src/ui', 'web/src/api', 'web/src/lib', 'web/src/texts'],
  'web/src/storages': ['web/src/ui', 'web/src/api', 'web/src/lib', 'web/src/texts'],
  'web/src/ui': ['web/src/api', 'web/src/lib', 'web/src/texts'],
  'web/src/api': ['packages/client/src/index.ts', 'web/src/lib', 'web/src/texts'],
  // The command line works without the server.
  'packages/cli': ['packages/client/src/index.ts'],
  'packages/client/src/index.ts': ['packages/client'],
  'packages/client': [],
}
const composers = [
  'src/app.ts',
  'src/endpoints/index.ts',
  'src/start/start.ts',
  'src/start/serve.ts',
  'src/start/processes.ts',
  'src/start/server-process.ts',
  'src/start/backup.ts',
  'src/start/copy-database.ts',
  'src/start/cli.ts',
  'src/start/doctor/index.ts',
  'src/start/apply/index.ts',
  'src/start/offline-app.ts',
  'src/start/reset-factors.ts',
  'src/start/server-commands.ts',
  'src/main.ts',
  'src/index.ts',
]
/** The folders that adapters and the server share. */
const contract = [
  'adapters/contract.ts',
  'adapters/join-writes.ts',
  'adapters/name-rules.ts',
  'adapters/pool.ts',
  'adapters/relay.ts',
]

/** Front ends see rows through the services, so they import only types of `db`. */
const typesOnly = [
  'src/http',
  'src/endpoints/applications',
  'src/endpoints/graphql',
  'src/endpoints/rest',
  'src/endpoints/tus',
  'src/endpoints/console',
  'src/endpoints/mcp',
  'src/endpoints/scim',
  'src/endpoints/sftp',
  'src/endpoints/webdav',
].map(layer => [layer, 'src/db'] as const)

interface Import {
  from: string
  to: string
  isType: boolean
}

const root = new URL('..', import.meta.url).pathname
/** Finds static imports and exports, and dynamic imports with a constant path. Biome ensures single quotes. */
const pattern =
  /^(?:import|export)\s+(?:(type\s)?[^'"`;()]*?\bfrom\s+)?'(\.[^']+)'|\b(?:import|require)\(\s*['"`](\.[^'"`]+)['"`]|\bnew URL\(\s*'(\.[^']+\.[jt]sx?)'/gm

async function sources(folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true })
  return entries.filter(name => /\.tsx?$/.test(name)).map(name => join(folder, name))
}

async function importsOf(file: string): Promise<Import[]> {
  const text = await readFile(join(root, file), 'utf8')
  return importsIn(text).map(({ path, isType }) => ({ from: file, to: normalize(join(dirname(file), path)), isType }))
}

function importsIn(text: string): { path: string; isType: boolean }[] {
  return [...text.matchAll(pattern)].map(([, type, path, loaded, worker]) => ({
    path: path ?? loaded ?? worker ?? '',
    isType: type !== undefined,
  }))
}

const layerOf = (file: string) =>
  Object.keys(mayImport).find(layer => file === layer || file.startsWith(`${layer}/`)) ?? null

const serverFiles = (await Promise.all(['src', 'adapters', 'migrations'].map(sources))).flat()
const packageFiles = (await Promise.all(['packages/cli/src', 'packages/client/src'].map(sources))).flat()
const files = [...serverFiles, ...(await sources('web/src')), ...packageFiles]
const imports = (await Promise.all(files.map(importsOf))).flat()

t.ok(imports.length > 100, 'the imports are found')
t.ok(imports.filter(({ from }) => from.startsWith('web/')).length > 100, 'the imports of the console are found')

t.test('every way to import is found', async t => {
  const ways = {
    "import './x.ts'": false,
    "import { a } from './x.ts'": false,
    "import a, {\n  b,\n  type C,\n} from './x.ts'": false,
    "import * as a from './x.ts'": false,
    "import type { A } from './x.ts'": true,
    "export { a } from './x.ts'": false,
    "export * from './x.ts'": false,
    "export type { A } from './x.ts'": true,
    "const a = await import('./x.ts')": false,
    "const a = await import(\n  './x.ts'\n)": false,
    'const a = await import(`./x.ts`)': false,
    "const a = require('./x.ts')": false,
    "type A = import('./x.ts').A": false,
    "new Worker(new URL('./x.ts', import.meta.url))": false,
  }
  for (const [text, isType] of Object.entries(ways)) t.same(importsIn(text), [{ path: './x.ts', isType }], text)
  const two = "import 'node:fs'\nimport './x.ts'\nimport { a } from 'kysely'\nimport type { B } from './y.ts'"
  t.same(importsIn(two), [
    { path: './x.ts', isType: false },
    { path: './y.ts', isType: true },
  ])
  // Only these files import computed paths: the migrations of a folder, and adapters that the settings name.
  const computed: string[] = []
  for (const file of files) {
    const text = await readFile(join(root, file), 'utf8')
    if (/\bimport\((?!\s*(['"`])[^$'"`]*\1)/.test(text)) computed.push(file)
  }
  t.same(computed.sort(), ['src/db/migrate.ts', 'src/storage/registry.ts'])
})

t.ok(
  imports.filter(({ from }) => from.startsWith('packages/cli/')).length > 50,
  'the imports of the command line are found',
)

t.test('imports follow the order of the layers', async t => {
  const wrong = imports.filter(({ from, to, isType }) => {
    if (composers.includes(from) || contract.includes(to)) return false
    const [layer, target] = [layerOf(from), layerOf(to)]
    if (layer === null || target === null) return true
    const allowed = mayImport[layer]?.includes(target) || layer === target
    const needsType = typesOnly.some(([a, b]) => layer === a && target === b)
    return !allowed || (needsType && !isType)
  })
  t.same(wrong, [])
})

/**
 * The files that open the content of a file, or make a link to it. Everything that a client reads through them leaves an audit event
 * that names the file: a download, a copy, a move, a job, or the copy of a part.
 */
const openers = [
  'src/http/content/file-content.ts',
  'src/http/content/serve-download.ts',
  'src/services/decoding/stored-original.ts',
  'src/services/files/content.ts',
  'src/services/files/copying.ts',
  'src/services/files/links.ts',
  'src/services/jobs/checksum.ts',
  'src/services/jobs/reading.ts',
  'src/services/jobs/transfer-file.ts',
  'src/services/open-files/random-reads.ts',
  'src/services/trash/moves.ts',
  // Reads only what the same upload may have stored, and sends nothing.
  'src/services/uploads/finish.ts',
  'src/services/uploads/multipart/index.ts',
  'src/services/uploads/outcome.ts',
  'src/services/versions/native.ts',
]

t.test('only known files open content, and each of them leaves an audit event', async t => {
  const found: string[] = []
  for (const file of files.filter(file => file.startsWith('src/') && !file.startsWith('src/storage/'))) {
    const text = await readFile(join(root, file), 'utf8')
    if (/\.(?:(?:read|openFile)\(\s*(?:[\w.#]*[sS]ignal|work)\b|readSmall\(|presignRead\()/.test(text)) found.push(file)
  }
  t.same(found.sort(), openers, 'record a new one in the audit log')
})

t.test('imports form no cycle', async t => {
  const next = Map.groupBy(imports, ({ from }) => from)
  const done = new Set<string>()
  const cycles: string[][] = []
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file])
    if (done.has(file) || path.includes(file)) return
    for (const { to } of next.get(file) ?? []) visit(to, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  t.same(cycles, [])
})

t.test('a file that only one other file needs has more than 24 lines, or is loaded later than that file', async t => {
  const importers = Map.groupBy(imports, ({ to }) => to)
  const wrong: string[] = []
  for (const file of files) {
    const [importer, ...others] = new Set(importers.get(file)?.map(({ from }) => from))
    // The first file of a folder says what the folder is for.
    if (importer === undefined || others.length > 0 || file.endsWith('/index.ts')) continue
    // The type check makes it.
    if (file === 'web/src/api/introspection.ts') continue
    const lines = (await readFile(join(root, file), 'utf8')).split('\n').length - 1
    const path = relative(dirname(importer), file)
    const text = await readFile(join(root, importer), 'utf8')
    const isLoadedLater = [`import('./${path}')`, `import('${path}')`, `new URL('./${path}'`].some(way =>
      text.includes(way),
    )
    if (lines < 25 && !isLoadedLater) wrong.push(`${file} with ${lines} lines belongs into ${importer}`)
  }
  t.same(wrong, [])
})

/** The first files of folders, where it is not `index.ts`, `index.js`, `main.tsx` or `page.tsx`. */
const firstFiles: Record<string, string> = {
  'adapters/bases': 'errors.ts',
  'adapters/bases/cloud': 'provider.ts',
  'adapters/bases/objects': 'driver.ts',
  'packages/cli/src/jobs': 'run-job.ts',
  'packages/cli/src/terminal': 'writer.ts',
  'packages/cli/src/transfer': 'transfer.ts',
  'packages/cli/src/trees': 'tree.ts',
  'src/auth': 'policy.ts',
  'src/db': 'client.ts',
  'src/db/catalogue': 'catalogues.ts',
  'src/db/jobs': 'jobs.ts',
  'src/db/quotas': 'rules.ts',
  'src/db/shares': 'shares.ts',
  'src/db/uploads': 'record.ts',
  'src/endpoints/graphql/types': 'entry.ts',
  'src/http': 'server.ts',
  'src/http/connection': 'connections.ts',
  'src/http/content': 'serve-download.ts',
  'src/http/content/archive': 'send-archive.ts',
  'src/http/openapi': 'operation.ts',
  'src/lib': 'limiter.ts',
  'src/log': 'logger.ts',
  'src/services/catalogue/content': 'worker.ts',
  'src/services/catalogue/content/extractor': 'extract.ts',
  'src/services/decoding': 'processes.ts',
  'src/services/entry-metadata': 'change-guard.ts',
  'src/services/jobs/copies': 'keep.ts',
  'src/services/people': 'credentials.ts',
  'src/services/people/ldap': 'directory.ts',
  'src/services/people/scim': 'users.ts',
  'src/services/renditions/converter': 'convert.ts',
  'src/services/thumbnails/decoder': 'decode.ts',
  'src/start': 'start.ts',
  'web/src/account': 'sign-in.tsx',
  'web/src/api': 'client.ts',
  'web/src/app': 'app.tsx',
  'web/src/app/frame': 'side-nav.tsx',
  'web/src/app/home': 'home.tsx',
  'web/src/files': 'operations.ts',
  'web/src/files/changes': 'hub.ts',
  'web/src/files/comments': 'comments.tsx',
  'web/src/files/create': 'create-button.tsx',
  'web/src/files/details': 'panel.tsx',
  'web/src/files/download': 'download.ts',
  'web/src/files/entry-list': 'list.tsx',
  'web/src/files/gallery': 'gallery.tsx',
  'web/src/files/preview': 'frame.tsx',
  'web/src/files/preview/photo': 'facts.ts',
  'web/src/files/preview/viewers': 'bytes.ts',
  'web/src/files/preview/viewers/archive': 'viewer.tsx',
  'web/src/files/preview/viewers/book': 'open.ts',
  'web/src/files/preview/viewers/pdf': 'open.ts',
  'web/src/files/rename': 'plan.ts',
  'web/src/files/restore': 'restore-dialog.tsx',
  'web/src/files/search': 'field.tsx',
  'web/src/files/share': 'dialog.tsx',
  'web/src/files/tree': 'tree.tsx',
  'web/src/files/upload': 'queue.ts',
  'web/src/files/versions': 'panel.tsx',
  'web/src/lib': 'load-part.ts',
  'web/src/settings': 'layout.tsx',
  'web/src/settings/access': 'access.tsx',
  'web/src/settings/applications': 'applications.tsx',
  'web/src/settings/audit': 'events.ts',
  'web/src/storages': 'storages-page.tsx',
  'web/src/texts': 'common.ts',
  'web/src/ui': 'button.tsx',
}

function parentsOf(path: string): string[] {
  const parent = dirname(path)
  return parent === '.' ? [] : [parent, ...parentsOf(parent)]
}

t.test('the first file of each folder begins with a comment', async t => {
  const names = Map.groupBy(
    files.filter(file => !file.startsWith('migrations/')),
    dirname,
  )
  const all = new Set(files.flatMap(file => [file, ...parentsOf(file)]))
  const wrong: string[] = []
  for (const [folder, inside] of names) {
    const first = firstFiles[folder]
    const candidates = first ? [first] : ['index.ts', 'index.js', 'main.tsx', 'page.tsx']
    const file = inside.find(name => candidates.includes(name.slice(folder.length + 1)))
    const text = file === undefined ? '' : await readFile(join(root, file), 'utf8')
    // A sentence or more, above the imports.
    const comment = /^(?:#!.*\n|\/\/ @ts-check\n)*\/\*\*(.+?)\*\//s.exec(text)?.[1] ?? ''
    if (comment.trim().length < 40)
      wrong.push(`${file ?? folder}: say what the folder is for, what enters and what leaves`)
    for (const [, name = ''] of comment.matchAll(/`([a-z][\w/-]*(?:\.tsx?|\/))`/g)) {
      const exists = ['', folder].some(base => all.has(join(base, name).replace(/\/$/, '')))
      if (!exists) wrong.push(`${file}: ${name} does not exist`)
    }
  }
  t.same(wrong, [])
  for (const folder of Object.keys(firstFiles)) t.ok(names.has(folder), `${folder} exists`)
})

t.test('decisions know no protocol', async t => {
  const protocol = /\bx-amz-|aws-chunked|IncomingHttpHeaders|'fastify'|'node:http'/
  for (const file of files.filter(file => file.startsWith('src/auth/'))) {
    t.notMatch(await readFile(join(root, file), 'utf8'), protocol, file)
  }
  t.match(await readFile(join(root, 'src/endpoints/s3/signature.ts'), 'utf8'), protocol)
})

t.test('only the settings read the environment', async t => {
  const readers: string[] = []
  // The templates are packages of their own.
  for (const file of files.filter(file => !file.startsWith('adapters/template/'))) {
    if (/process\.env/.test(await readFile(join(root, file), 'utf8'))) readers.push(file)
  }
  t.same(readers, ['src/start/cli.ts', 'packages/cli/src/main.ts'], 'they pass it on')
})

t.test(
  'only one module of the command line writes to the standard output and error, and it escapes all texts',
  async t => {
    const uses = /\bstd(?:out|err)\b|\bconsole\.\w+\(|\bcreateInterface\(|\bwriteSync\(/
    const writing: string[] = []
    for (const file of files.filter(file => file.startsWith('packages/cli/'))) {
      if (uses.test(await readFile(join(root, file), 'utf8'))) writing.push(file)
    }
    t.same(writing, ['packages/cli/src/terminal/writer.ts'])
  },
)

t.test('only one module accepts forms, with limits for all of their parts', async t => {
  const registering: string[] = []
  for (const file of files) {
    if (/^import (?!type ).*'@fastify\/multipart'/m.test(await readFile(join(root, file), 'utf8')))
      registering.push(file)
  }
  t.same(registering, ['src/http/content/form-parts.ts'])
})

t.test('migrations need nothing but kysely', async t => {
  for (const file of files.filter(file => file.startsWith('migrations/'))) {
    const text = await readFile(join(root, file), 'utf8')
    const modules = [...text.matchAll(/from '([^']+)'/g)].map(([, name]) => name)
    t.same([...new Set(modules)], ['kysely'], file)
  }
})

t.test('adapters connect to other machines only through host.network', async t => {
  // The conformance kit and the templates do not run in a server.
  const own = files.filter(file => /^adapters\/(?!conformance\/|template\/)/.test(file))
  // These import worker_threads. What runs in their threads is checked as all other files are.
  const threads = [
    'adapters/backends/local/small-files/thread.ts',
    'adapters/backends/local/small-files/threads.ts',
    'adapters/backends/local/watch-thread.ts',
    'adapters/backends/local/watcher.ts',
  ]
  t.ok(own.length > 40)
  const modules =
    /^import (?!type )[^;']*? from '(?:node:)?(?:https?|http2|net|tls|dgram|dns(?:\/promises)?|child_process|worker_threads|undici)'/m
  const globals = /(?<![.\w])(?:fetch|WebSocket|EventSource)\(/
  const wrong: string[] = []
  for (const file of own) {
    const text = await readFile(join(root, file), 'utf8')
    if (modules.test(text) || globals.test(text)) wrong.push(file)
  }
  // The relay only listens. It connects with the network that it is given.
  t.same(wrong.sort(), [...threads, 'adapters/relay.ts'])
  const relay = await readFile(join(root, 'adapters/relay.ts'), 'utf8')
  t.match(relay, "import { type AddressInfo, createServer, type Socket } from 'node:net'")
  t.match("import { Agent } from 'node:http'", modules)
  t.match("import net from 'net'", modules)
  t.notMatch("import type { Agent } from 'node:http'", modules)
  t.match('await fetch(url)', globals)
  t.notMatch('host.network.fetch(url)', globals)
})

t.test('bodies are read in one place', async t => {
  // Only `src/http/admission.ts` reads a body into memory, and only `src/http/` parses it.
  const forbidden =
    /addContentTypeParser|removeAllContentTypeParsers|SaxesParser|JSON\.parse\(|bodyLimit|\.hijack\(|(?:of|text\() ?request\.raw\b|\.raw\.(?:on|once|pipe|read|resume)\(/
  const layers = ['graphql', 'rest', 'tus', 's3', 'webdav', 'mcp', 'scim', 'console'].map(
    name => `src/endpoints/${name}`,
  )
  const files = (await Promise.all(layers.map(sources))).flat()
  t.ok(files.length > 50)
  for (const file of files) t.notMatch(await readFile(join(root, file), 'utf8'), forbidden, file)
})

t.test('the bundle has every file that the server opens by name', async t => {
  const found: string[] = []
  for (const file of [...(await sources('src')), ...(await sources('adapters'))]) {
    const names = (await readFile(join(root, file), 'utf8')).matchAll(
      /new URL\(`(\.[^`$]+)\$\{extname\(import\.meta\.url\)\}`/g,
    )
    for (const [, name = ''] of names) found.push(normalize(join(dirname(file), name)))
  }
  t.ok(found.length > 2, found.join())
  for (const name of found) t.ok(entries.includes(name), `${name} is in \`entries\` of scripts/build/server.ts`)
  for (const name of entries) await readFile(join(root, `${name}.ts`))
})
