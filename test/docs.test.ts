/** Runs the commands of the documentation and checks its tables and links. */
import { access, readdir, readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import t, { type Test } from 'tap'
import { builtInAdapters } from '../adapters/index.ts'
import { commandLineTables } from '../scripts/docs-tables/command-line.ts'
import { reasons } from '../src/errors.ts'
import { routes } from './matrix/routes.ts'
import { client } from './support/client.ts'
import { atNight } from './support/extent.ts'
import { main, type Program, runProgram, startProgram, temporaryFolder } from './support/program.ts'

const root = new URL('..', import.meta.url).pathname
const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'adapters/README.md']
for (const page of await readdir(join(root, 'docs'), { recursive: true }))
  if (page.endsWith('.md')) pages.push(`docs/${page}`)
const documents = new Map<string, string>()
for (const page of pages) documents.set(page, await readFile(join(root, page), 'utf8'))

interface Block {
  code: string
  /** The expected output from its `# -> ` lines; `...` matches anything. */
  shows: string[]
}

/** Returns the shell blocks of a section, in order. */
function blocksOf(page: string, title: string): Block[] {
  const section =
    textOf(page)
      .split(/^## /m)
      .find(text => text.startsWith(`${title}\n`)) ?? ''
  return [...section.matchAll(/^```bash\n(.*?)^```$/gms)].map(([, code = '']) => {
    return { code, shows: [...code.matchAll(/^# -> (.*)$/gm)].map(([, line = '']) => line) }
  })
}

function isShown(line: string, pattern: string): boolean {
  const escaped = pattern.split('...').map(part => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${escaped.join('.*')}$`).test(line)
}

/** Runs the blocks in sequence in one bash, like a person who pastes them and sees the standard output and error together. */
async function paste(
  t: Test,
  blocks: readonly Block[],
  cwd: string,
  environment: Record<string, string> = {},
): Promise<void> {
  const end = '--- end of a block ---'
  const script = ['exec 2>&1\n', ...blocks.map(({ code }) => `${code}\necho; echo '${end}'\n`)].join('')
  const command = ['bash', '--norc', '-eu', '-o', 'pipefail', '-c', script] as const
  const { status, stdout } = await runProgram({ environment: { ...environment, HOME: cwd }, command, cwd })
  t.equal(status, 0)
  const outputs = stdout.split(`${end}\n`)
  for (const [index, { code, shows }] of blocks.entries()) {
    const lines = (outputs[index] ?? '').split('\n').filter(line => line !== '')
    const asShown = lines.map((line, at) => (isShown(line, shows[at] ?? '') ? shows[at] : line))
    t.same(asShown, shows, code.slice(0, code.indexOf('\n')))
  }
}

atNight(t, 'the commands of the tour work, and a backup restores everything', async t => {
  const home = await temporaryFolder(t)
  const server = await startProgram(t, { environment: { PORT: '0', STOWAGE_TRASH_DAYS: '30' }, cwd: home })
  const tour = blocksOf('README.md', 'A tour in five minutes').map(block => {
    const code = block.code
      .replace('URL=http://127.0.0.1:3000', `URL=${server.url}`)
      .replace('npm start --silent --', `"${process.execPath}" "${main}"`)
    return { ...block, code }
  })
  t.ok(tour.length > 6 && tour[0]?.code.includes(server.url), 'the blocks are found')
  await paste(t, tour, home)
  t.equal(await readFile(join(home, 'data/files/reports/hello.txt'), 'utf8'), 'Hello, Stowage!\n')
  await backUpAndRestore(t, server, home)
})

async function backUpAndRestore(t: Test, server: Program, home: string): Promise<void> {
  const [backUp, copyFiles, restore] = blocksOf('docs/operations.md', 'Back up and restore').map(({ code, shows }) => ({
    shows,
    code: code
      .replaceAll('/srv/backups', home)
      .replace('npm start -- backup', `"${process.execPath}" "${main}" backup`)
      .replace(/^npm start\n/m, ''),
  }))
  if (!backUp || !copyFiles || !restore) throw new Error('the blocks are not found')
  const { status, stderr } = await runProgram({
    environment: {},
    command: ['bash', '--norc', '-ec', backUp.code],
    cwd: home,
  })
  t.same([status, stderr], [0, ''], 'the backup works while the server runs')
  t.equal(await server.stop(), 0)
  await paste(t, [copyFiles, restore], home)
  const restored = await startProgram(t, { environment: { PORT: '0' }, cwd: home })
  const api = client(restored.url)
  const input = { email: 'you@example.org', password: 'at least 12 characters' }
  const { login } = await api.ask('mutation ($input: LoginInput!) { login(input: $input) { token } }', { input })
  const { providers } = await api.ask('{ providers { id } }', {}, login.token)
  const file = await api.download(login.token, providers[0].id, '/reports/hello.txt')
  t.equal(await file.text(), 'Hello, Stowage!\n', 'people, providers and files are restored')
  t.equal(await restored.stop(), 0)
}

t.test('docs/errors.md lists every reason', async t => {
  t.same(
    textOf('docs/errors.md')
      .split('\n')
      .filter(line => /^\| [A-Z_]+ \| `[A-Z_]+` \|/.test(line)),
    Object.entries(reasons).map(([reason, { code, status, meaning }]) => {
      return `| ${code} | \`${reason}\` | ${status} | ${meaning} |`
    }),
    'else run: node scripts/docs-tables.ts',
  )
})

t.test('docs/command-line.md has every command, option, field and exit code', async t => {
  for (const { head, rows } of commandLineTables()) {
    const [, table = ''] = textOf('docs/command-line.md').split(`${head}\n`)
    t.ok(rows.length > 5, head)
    t.same(table.split('\n').slice(1, rows.length + 2), [...rows, ''], 'else run: node scripts/docs-tables.ts')
  }
})

t.test('every type of provider and every route is documented', async t => {
  for (const { type } of builtInAdapters({ localRoots: [], dataFolder: '/nowhere' }))
    for (const page of ['docs/configuration.md', 'docs/back-ends.md'])
      t.ok(textOf(page).includes(`\`${type}\``), `${type} in ${page}`)
  const paths = new Set(Object.keys(routes).map(name => name.split(' ')[1] ?? ''))
  t.ok(paths.has('/api/upload/proxy'))
  for (const path of paths) t.ok(new RegExp(`${path}(?![\\w/])`).test(textOf('docs/rest.md')), path)
})

t.test('no page has a conflict of a merge', async t => {
  for (const [page, text] of documents) t.notMatch(text, /^(?:<{7}|={7}|>{7})(?: |$)/m, page)
})

t.test('every link has a target', async t => {
  for (const [page, text] of documents) {
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue
      const [path = '', anchor] = target.split('#')
      const file = path === '' ? page : normalize(join(dirname(page), path))
      await t.resolves(access(join(root, file)), `${page}: ${target}`)
      if (anchor !== undefined) t.ok(anchorsOf(textOf(file)).includes(anchor), `${page}: ${target}`)
    }
  }
})

t.test('every file of the project that a guide names exists', async t => {
  const top = new Set(['adapters', 'bench', 'docs', 'migrations', 'packages', 'scripts', 'src', 'test', 'web'])
  const inSource = new Set(await readdir(join(root, 'src')))
  const guides = pages.filter(page =>
    /^(?:CONTRIBUTING|SECURITY|docs\/architecture|docs\/decisions\/.*)\.md$/.test(page),
  )
  const named = guides.flatMap(page =>
    [...textOf(page).matchAll(/`((?:[\w.-]+\/)+[\w.-]*)`/g)].map(([, path = '']) => ({ page, path })),
  )
  t.ok(named.length > 100)
  for (const { page, path } of named) {
    const [first = ''] = path.split('/')
    if (inSource.has(first)) await t.resolves(access(join(root, 'src', path)), `${page}: ${path}`)
    else if (top.has(first)) await t.resolves(access(join(root, path)), `${page}: ${path}`)
  }
})

t.test('the front page is short', async t => {
  t.ok(textOf('README.md').split('\n').length <= 200)
})

function textOf(page: string): string {
  const text = documents.get(page)
  if (text === undefined) throw new Error(`${page} is not among the documents`)
  return text
}

function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => {
    return title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-')
  })
}

t.test('each promise about security names existing tests', async t => {
  const security = textOf('SECURITY.md')
  const promises = (security.split(/^## /m).find(text => text.startsWith('What is promised')) ?? '')
    .split('\n')
    .filter(line => /^\| (?!Promise \|)/.test(line))
  t.ok(promises.length > 10)
  for (const line of promises) t.match(line, /\| `test\/[\w./-]+\.test\.ts`/, line.slice(0, 60))
  for (const [, path = ''] of security.matchAll(/`((?:src|test)\/[\w./-]+)`/g)) {
    await t.resolves(access(join(root, path)), path)
  }
})
