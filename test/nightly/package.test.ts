/** Installs Stowage as a tarball into an empty project, together with an external adapter. */
import { randomBytes } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import { client } from '../support/client.ts'
import { toolCall, toolOutcome } from '../support/mcp.ts'
import { npm, pack, packStowage, projectWith } from '../support/npm.ts'
import { runProgram, startProgram, temporaryFolder } from '../support/program.ts'

// Installing packages over a slow network takes long.
t.setTimeout(600_000)

const root = new URL('../..', import.meta.url).pathname
const templates = join(root, 'adapters/template')
const PATH = `${dirname(process.execPath)}:${process.env.PATH}`

const folder = await temporaryFolder(t)
const adapter = await pack(join(templates, 'javascript'), folder)
const project = await projectWith(folder, await packStowage(folder), adapter)
// Authors start from the copies in the package, and install typescript and @types/node.
for (const language of ['javascript', 'typescript']) {
  await cp(join(project, 'node_modules/stowage/adapters/template', language), join(project, language), {
    recursive: true,
  })
}
const types = join(project, 'node_modules/@types/node')
await mkdir(dirname(types), { recursive: true })
await rm(types, { recursive: true, force: true })
await symlink(join(root, 'node_modules/@types/node'), types)
const tsc = join(project, 'node_modules/.bin/tsc')
await rm(tsc, { force: true })
await symlink(join(root, 'node_modules/typescript/bin/tsc'), tsc)

/** Uses every name that the entry points export. */
const program = `
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import {
  type AdapterDefinition, apiVersion, type ByteRange, type Call, type ChecksumAlgorithm, type ConfigSchema, type Entry,
  type Host, type ListPage, type OAuthFlow, type Quota, type ReadResult, type ResumableWrites, StorageError,
  type StorageErrorCode, storageErrorCodes, type StoragePath, type StorageProvider, type Tokens, type Traits,
} from 'stowage/adapter'
import {
  commonNames, type ConformanceCase, conformanceCases, type Faults, type Harness, oddNames, type TestHost, testHost, type Undo,
} from 'stowage/adapter/conformance'
import {
  connectionsProperty, type Facts, folderProperty, hostProperty, isRefusal, openPlainProvider, passwordProperty,
  type PlainFiles, portProperty, type RenameOptions, showCertificate, unreachable, userProperty,
} from 'stowage/adapter/plain'

const code: StorageErrorCode = 'NOT_FOUND'
const missing = () => new StorageError(code, 'There is nothing at this path.', { retryAfterMs: 5 })
const traits: Traits = { emptyDirectories: true, maxFileSize: 5 }
const checksum: ChecksumAlgorithm = 'md5'
const entry: Entry = {
  name: '', kind: 'file', size: 1, modifiedAt: new Date(), etag: null, mimeType: null, checksums: { [checksum]: 'ab' },
}
const part: ResumableWrites = {
  partSize: 5,
  begin: async (path: StoragePath, { signal, size }) => JSON.stringify([path, signal.aborted, size]),
  append: async (state, body: Readable, { offset, size }) => state + body.readable + (offset + size),
  complete: async (_state, body: Readable, { overwrite }) => ({ ...entry, size: overwrite && body.readable ? 1 : 0 }),
  abort: async () => {},
}
class Provider implements StorageProvider {
  readonly traits = traits
  readonly resumable = part
  async stat(_path: StoragePath, { signal }: Call): Promise<Entry> { signal.throwIfAborted(); throw missing() }
  async list(_path: StoragePath, { cursor, limit }: Call & { cursor?: string; limit: number }): Promise<ListPage> {
    return cursor ? { entries: [entry].slice(limit) } : { entries: [], cursor: 'next' }
  }
  async read(_path: StoragePath, { range }: Call & { range?: ByteRange }): Promise<ReadResult> {
    return { body: Readable.from([String(range?.offset)]), entry }
  }
  async write(): Promise<Entry> { return entry }
  async delete(): Promise<void> {}
  async mkdir(): Promise<void> {}
  async quota(): Promise<Quota> { return { used: null, total: 5 } }
  async openFile(): Promise<{ handle: FileHandle; entry: Entry }> { throw missing() }
  async presign(_path: StoragePath, { method }: { method: 'GET' | 'PUT' }) {
    return { url: new URL('https://example.org/' + method), headers: {} }
  }
}
const tokens: Tokens = { accessToken: 'a', expiresAt: new Date() }
type Config = { root: string }
const oauth: OAuthFlow<Config> = {
  isNeeded: ({ root }) => root !== '',
  authorizeUrl: (_config, { state }) => new URL('https://example.org/?state=' + state),
  exchange: async () => tokens,
  refresh: async () => tokens,
}
const shared = [connectionsProperty, folderProperty, hostProperty, passwordProperty, portProperty, userProperty]
const configSchema: ConfigSchema = { type: 'object', properties: { root: { ...shared[0] } }, required: ['root'] }
export async function openPlain(files: PlainFiles, { kind }: Facts & Pick<RenameOptions, 'kind'>): Promise<StorageProvider> {
  const lost = unreachable(new Error(kind), { host: 'files.example', port: 22 })
  if (isRefusal(lost)) throw showCertificate(lost, 'fingerprint', 'files.example')
  return await openPlainProvider(files, host)
}
const adapter: AdapterDefinition<Config> = {
  type: 'mine', apiVersion, title: 'Mine', configSchema, oauth,
  async open({ root }, host: Host) {
    host.warn('opened', { root, token: await host.accessToken({ rejected: 'old' }) })
    return new Provider()
  },
}
export default adapter
const host: TestHost = testHost({ accessToken: async () => 'token' })
const undo: Undo = () => {}
const faults: Faults = { rateLimit: async (_provider, { retryAfterMs }) => (retryAfterMs > 0 ? undo : undo) }
const harness: Harness = { open: () => adapter.open({ root: '/' }, host), refuses: name => name.endsWith('.'), faults }
const cases: ConformanceCase[] = conformanceCases(harness)
for (const { name, run } of cases) run().then(({ skipped }) => [name, skipped ?? '', storageErrorCodes, oddNames, commonNames])
`

t.test('the types match the exports of the package', async t => {
  await writeFile(join(project, 'adapter.ts'), program)
  const options = '--strict --exactOptionalPropertyTypes --module nodenext --target es2024 --types node --noEmit'.split(
    ' ',
  )
  const check = (...more: string[]) =>
    runProgram({ environment: {}, cwd: project, command: [process.execPath, tsc, ...options, ...more] })
  t.match(await check('--skipLibCheck', 'false', 'adapter.ts'), { status: 0, stdout: '' })
  t.match(await check('--allowJs', '--checkJs', 'javascript/index.js', 'javascript/index.test.js'), {
    status: 0,
    stdout: '',
  })
  await writeFile(join(project, 'wrong.ts'), program.replace("'NOT_FOUND'", "'MISSING'"))
  t.match(await check('wrong.ts'), { stdout: /'"MISSING"' is not assignable/ }, 'the types are not any')
  const loads = `process.stdout.write(Object.keys(await import('stowage/adapter/plain')).join(' '))`
  const command = [process.execPath, '--input-type=module', '-e', loads] as const
  const loaded = await runProgram({ environment: {}, cwd: project, command: [...command] })
  t.match(loaded, { status: 0, stdout: /openPlainProvider/ })
})

t.test('the template in JavaScript passes the conformance kit with node:test', async t => {
  const command = [process.execPath, '--test', '--test-reporter=tap', 'javascript/index.test.js'] as const
  const { status, stdout, stderr } = await runProgram({ environment: {}, cwd: project, command: [...command] })
  if (status !== 0) t.comment(stdout + stderr)
  t.equal(status, 0)
  t.match(stdout, /^# fail 0$/m)
  const [passed, skipped] = ['pass', 'skipped'].map(what =>
    Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(stdout)?.[1]),
  )
  t.ok(Number(passed) > 50, `${passed} passed, ${skipped} skipped`)
  t.match(stdout, /^ok .* # SKIP needs the method copy/m)
})

t.test('the template in TypeScript compiles, passes the kit from the command line and gets a badge', async t => {
  const home = join(project, 'typescript')
  const printed = await npm(home, 'test', '--', '--entries', '100')
  const [, passed] = /^sqlite-plain passes conformance (\d{2,}) of \1 \(\d+ skipped\)$/m.exec(printed) ?? []
  t.ok(passed, printed)
  t.match(await readFile(join(home, 'conformance.svg'), 'utf8'), `>${passed} of ${passed}</text>`)
  const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  t.match(devDependencies, JSON.parse(await readFile(join(home, 'package.json'), 'utf8')).devDependencies)
})

/** Unusable packages and the expected reason for each. */
const broken: Record<string, { code: string | null; why: RegExp }> = {
  'broken-missing': { code: null, why: /Cannot find package 'broken-missing'.*/ },
  'broken-throws': { code: `throw new Error('no such luck')`, why: /no such luck/ },
  'broken-throws-null': { code: 'throw null', why: /it throws null/ },
  'broken-syntax': { code: 'export default {', why: /Unexpected end of input/ },
  'broken-import': { code: `import 'not-there'`, why: /Cannot find package 'not-there'.*/ },
  'broken-empty': { code: '', why: /it has no adapter as its default export \(export default\)/ },
  'broken-version': {
    code: definition({ apiVersion: 2 }),
    why: /it is written for version 2 of the adapter API, this server has 1/,
  },
  'broken-taken': { code: definition({ type: 'local' }), why: /the type "local" is taken by another adapter/ },
  'broken-type': { code: definition({ type: '../etc' }), why: /its type is malformed.*/ },
  'broken-schema': {
    code: definition({ configSchema: { type: 'object', properties: { a: { type: 'bytes' } } } }),
    why: /its configSchema cannot be used: .*/,
  },
  'broken-schema-missing': {
    code: definition({ configSchema: undefined }),
    why: /its configSchema does not describe.*/,
  },
}

t.test('the installed server loads the adapter and skips unusable packages', async t => {
  for (const [name, { code }] of Object.entries(broken)) {
    if (code === null) continue
    const home = join(project, 'node_modules', name)
    await mkdir(home)
    await writeFile(join(home, 'package.json'), JSON.stringify({ name, type: 'module', exports: './index.js' }))
    await writeFile(join(home, 'index.js'), code)
  }
  const databases = join(folder, 'databases')
  await mkdir(databases)
  const server = await startProgram(t, {
    command: [join(project, 'node_modules/.bin/stowage')],
    cwd: project,
    environment: {
      PATH,
      PORT: '0',
      STOWAGE_DATA: join(folder, 'data'),
      STOWAGE_ADAPTERS: [...Object.keys(broken), 'stowage-adapter-sqlite'].join(','),
      SQLITE_FOLDER: databases,
    },
  })
  const warnings = server
    .output()
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))
    .filter(({ level }) => level >= 40)
    .map(({ msg }) => msg)
  for (const [name, { why }] of Object.entries(broken)) {
    const sentence = new RegExp(`^The adapter package "${name}" \\(STOWAGE_ADAPTERS\\) was skipped: ${why.source}\\.$`)
    t.equal(warnings.filter(message => sentence.test(message)).length, 1, `${name}: ${warnings.join('\n')}`)
  }
  t.equal(warnings.length, Object.keys(broken).length, 'the log has no other warning')

  const stowage = client(server.url)
  const { token } = await stowage.register('owner@example.org')
  const { providerTypes } = await stowage.ask('{ providerTypes { type builtIn } }', {}, token)
  t.match(
    providerTypes.filter(({ builtIn }: { builtIn: boolean }) => !builtIn),
    [{ type: 'sqlite' }],
  )
  const connect = 'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }'
  const refused = await stowage.graphql(
    connect,
    { input: { type: 'sqlite', name: 'x', config: { name: '../x' } } },
    token,
  )
  t.equal(refused.errors[0]?.extensions.reason, 'INVALID_CONFIG')
  const id = await stowage.connectProvider(token, 'sqlite', { name: 'team' })
  t.match(await readdir(databases), ['team.sqlite'])
  const bytes = randomBytes(5_000_001)
  const stored = await stowage.upload(token, id, '/folder/file name.bin', bytes)
  t.match([stored.status, (await stored.json()).size], [201, bytes.length])
  const whole = await stowage.download(token, id, '/folder/file name.bin')
  t.ok(Buffer.from(await whole.arrayBuffer()).equals(bytes), 'the bytes are identical')
  const range = await stowage.download(token, id, '/folder/file name.bin', { range: 'bytes=4000000-4999999' })
  t.equal(range.status, 206)
  t.ok(Buffer.from(await range.arrayBuffer()).equals(bytes.subarray(4_000_000, 5_000_000)))
  const { key } = await stowage.createKey(token, { name: 'laptop', scopes: ['read'] })
  const listed = await runProgram({
    command: [join(project, 'node_modules/.bin/stowage'), 'ls', '-r', 'sqlite:/'],
    cwd: project,
    environment: { PATH, HOME: folder, STOWAGE_URL: server.url, STOWAGE_API_KEY: key },
  })
  t.match(listed, { status: 0, stdout: 'folder/\nfolder/file name.bin\n' }, 'the package contains the command line')
  const { path, ...call } = toolCall('list_providers', {})
  const response = await stowage.request(path, { ...call, token })
  const { output } = toolOutcome(response.status, await response.text())
  t.match(output, { providers: [{ id }] }, 'the package contains the library of the MCP server')
  t.equal(await server.stop(), 0)
})

function definition(more: object): string {
  const fields = {
    type: 'broken',
    apiVersion: 1,
    title: 'Broken',
    configSchema: { type: 'object', properties: {} },
    ...more,
  }
  return `export default { ...${JSON.stringify(fields)}, open: async () => ({}) }`
}
