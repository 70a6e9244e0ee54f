import { createHash, randomBytes } from 'node:crypto'
import {
  appendFile,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import type { AdapterDefinition, Entry, StoragePath } from '../../adapters/contract.ts'
import { StorageError } from '../../adapters/contract.ts'
import { atNight, extent } from '../support/extent.ts'
import {
  extractWithUnzip,
  fetchLarge,
  type Member,
  readWithPython,
  requireArchivers,
  testWithOthers,
} from './archive-tools.ts'
import { type HttpServer, startHttp, testOrigin } from './server.ts'
import { eventually } from './socket.ts'

await requireArchivers()

// The largest archive has more than 4 GiB.
t.setTimeout(300_000)

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')

async function temporary(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-archive-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Downloads an archive to `file`, with runs of zeros stored as holes on disk. */
async function fetchArchive(url: string, file: string, headers: Record<string, string>): Promise<Response> {
  const response = await fetch(url, { headers })
  const handle = await open(file, 'w')
  const zeros = Buffer.alloc(64 * 1024)
  let position = 0
  try {
    for await (const piece of response.body ?? []) {
      const chunk = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
      const isHole = chunk.length <= zeros.length && chunk.equals(zeros.subarray(0, chunk.length))
      if (!isHole) await handle.write(chunk, 0, chunk.length, position)
      position += chunk.length
    }
    await handle.truncate(position)
  } finally {
    await handle.close()
  }
  return response
}

async function archiveOf(t: Test, server: HttpServer, path: string, providerId = server.local) {
  const file = join(await temporary(t), 'archive.zip')
  const response = await fetchArchive(server.downloadUrl(path, { providerId }), file, server.authorization)
  if (response.status !== 200) throw new Error(`${response.status} ${await readFile(file, 'utf8')}`)
  return { file, response }
}

function byName(members: readonly Member[]): Map<string, Member> {
  return new Map(members.map(member => [member.name, member]))
}

t.test('an archive of any tree is complete and opens in every program', async t => {
  const server = await startHttp(t)
  const name = fc.constantFrom('a', 'A', 'b.txt', 'c.jpg', 'ü', 'u\u0308', '日本.txt', '😀', ' x ', 'é.csv', '~', "'q'")
  type Tree = { [name: string]: Tree | string }
  const content = fc.oneof(
    fc.string(),
    fc.nat(200_000).map(length => 'some text, '.repeat(length / 11)),
  )
  const { tree } = fc.letrec<{ tree: Tree; node: Tree | string }>(tie => ({
    tree: fc.dictionary(name, tie('node'), { maxKeys: 5 }) as fc.Arbitrary<Tree>,
    node: fc.oneof({ depthSize: 'small', withCrossShrink: true }, content, tie('tree')),
  }))
  const time = fc.date({ min: new Date('1980-01-02'), max: new Date('2037-12-31'), noInvalidDate: true })
  let round = 0
  await fc.assert(
    fc.asyncProperty(tree, time, async (tree, time) => {
      const top = `tree-${round++}`
      const expected = new Map<string, string | null>()
      const write = async (below: Tree, path: string) => {
        await mkdir(join(server.folder, path))
        expected.set(`${path}/`, null)
        for (const [name, node] of Object.entries(below)) {
          const at = `${path}/${name}`
          if (typeof node === 'object') await write(node, at)
          else {
            await writeFile(join(server.folder, at), node)
            await utimes(join(server.folder, at), time, time)
            expected.set(at, node)
          }
        }
      }
      await write(tree, top)
      const { file } = await archiveOf(t, server, `/${top}`)
      const members = byName(await readWithPython(file))
      await testWithOthers(file)
      const even = new Date(Math.floor(time.getTime() / 2000) * 2000).toISOString().slice(0, 19)
      return (
        members.size === expected.size &&
        [...expected].every(([name, node]) => {
          const member = members.get(name)
          const isText = /\.(txt|csv)$/.test(name)
          if (!member) return false
          if (node === null) return member.size === 0
          const bytes = Buffer.byteLength(node)
          return (
            member.sha256 === sha256(node) &&
            member.isUtf8 &&
            member.time === even &&
            member.compressed === (isText && bytes >= 256)
          )
        })
      )
    }),
    { numRuns: extent({ gate: 1, nightly: 25 }) },
  )
})

t.test('an archive keeps unusual names and excludes links and special files', async t => {
  const server = await startHttp(t)
  const names = ['a\\b', 'a%5Cb', 'line\nbreak', '..\\..\\evil', 'C:', '\u0085', '%0A', 'a%255Cb']
  await mkdir(join(server.folder, 'odd/empty'), { recursive: true })
  for (const name of names) await writeFile(join(server.folder, 'odd', name), name)
  await symlink('/etc/passwd', join(server.folder, 'odd/link'))
  await symlink('/etc', join(server.folder, 'odd/folder-link'))
  const { file } = await archiveOf(t, server, '/odd')
  const members = await readWithPython(file)
  const expected: Record<string, string> = {
    'a%5Cb': 'a\\b',
    'a%255Cb': 'a%5Cb',
    'a%25255Cb': 'a%255Cb',
    'line%0Abreak': 'line\nbreak',
    '..%5C..%5Cevil': '..\\..\\evil',
    'C:': 'C:',
    '%85': '\u0085',
    '%250A': '%0A',
  }
  t.same(
    members.map(({ name }) => name).toSorted(),
    [...Object.keys(expected).map(name => `odd/${name}`), 'odd/', 'odd/empty/'].toSorted(),
  )
  for (const [name, text] of Object.entries(expected)) t.equal(byName(members).get(`odd/${name}`)?.sha256, sha256(text))
  await testWithOthers(file)
  const folder = await temporary(t)
  const time = new Date('2001-02-03T04:05:07Z')
  await utimes(join(server.folder, 'odd/C:'), time, time)
  await utimes(join(server.folder, 'odd/empty'), time, time)
  await extractWithUnzip((await archiveOf(t, server, '/odd')).file, folder)
  t.same(await readdir(join(folder, 'odd/empty')), [], 'an empty folder stays empty')
  t.same((await stat(join(folder, 'odd/C:'))).mtime, time, 'times are exact in any time zone')
  t.same((await stat(join(folder, 'odd/empty'))).mtime, time)
  t.equal((await stat(join(folder, 'odd/C:'))).mode & 0o777, 0o644)
})

t.test('archives support HEAD, links and the root, and ignore ranges', async t => {
  const server = await startHttp(t)
  await mkdir(join(server.folder, 'Berichte 2026 ü'))
  await writeFile(join(server.folder, 'Berichte 2026 ü/x'), 'x')
  const url = server.downloadUrl('/Berichte 2026 ü')
  const get = (init: RequestInit = {}, at = url) =>
    fetch(at, { ...init, headers: { ...server.authorization, ...(init.headers as Record<string, string>) } })
  for (const method of ['GET', 'HEAD']) {
    const response = await get({ method, headers: { range: 'bytes=0-1' } })
    const body = Buffer.from(await response.arrayBuffer())
    t.equal(response.status, 200, 'ranges are ignored')
    t.match(Object.fromEntries(response.headers), {
      'content-type': 'application/zip',
      'accept-ranges': 'none',
      'content-disposition': /^attachment; filename=".*\.zip"; filename\*=UTF-8''Berichte%202026%20%C3%BC\.zip$/,
      'cache-control': 'private, no-cache',
      'x-content-type-options': 'nosniff',
      'content-security-policy': 'sandbox',
    })
    t.equal(response.headers.get('content-length'), null)
    t.equal(body.length > 0, method === 'GET')
  }
  t.equal((await get({ headers: { 'if-match': '"x"' } })).status, 412, 'an archive has no version')
  t.equal((await get({ headers: { 'if-none-match': '*' } })).status, 304)
  const viewer = await server.services.credentials.authenticate(server.token, testOrigin)
  const location = { providerId: server.local, path: '/Berichte 2026 ü' }
  const ticket = server.services.files.link(viewer, location, { expiresIn: 60, inline: true })
  const linked = await fetch(`${server.url}/api/download/proxy?ticket=${ticket}`)
  t.equal(linked.status, 200)
  t.match(linked.headers.get('content-disposition'), /^attachment/)
  t.equal((await linked.arrayBuffer()).byteLength > 0, true)
  const { file, response } = await archiveOf(t, server, '/')
  t.match(response.headers.get('content-disposition'), /^attachment; filename="?local\.zip"?$/)
  t.ok(byName(await readWithPython(file)).has('local/Berichte 2026 ü/x'))
})

t.test('a key downloads only what is below its base path', async t => {
  const server = await startHttp(t)
  for (const folder of ['team/backups', 'team/backups-old', 'other']) {
    await mkdir(join(server.folder, folder), { recursive: true })
    await writeFile(join(server.folder, folder, 'secret'), folder)
  }
  const { services, local } = server
  const viewer = await services.credentials.authenticate(server.token, testOrigin)
  const { key } = await services.apiKeys.create(viewer, {
    name: 'backups',
    scopes: ['read'],
    providerAccess: { restrictions: [{ providerId: local, basePath: '/team/backups' }] },
  })
  const headers = { authorization: `Bearer ${key}` }
  const file = join(await temporary(t), 'own.zip')
  t.equal((await fetchArchive(server.downloadUrl('/team/backups'), file, headers)).status, 200)
  t.same(
    (await readWithPython(file)).map(({ name }) => name),
    ['backups/', 'backups/secret'],
  )
  for (const path of ['/', '/team', '/team/backups-old', '/other']) {
    const refused = await fetch(server.downloadUrl(path), { headers })
    t.match([refused.status, refused.headers.get('content-type')], [403, /json/], path)
  }
})

/** Counts open bodies and listings, and fails at the paths in `faults`. */
class Watched extends MemoryProvider {
  open = 0
  most = 0
  lists = 0
  readonly faults = new Map<string, () => Error | Readable>()
  entries: ((path: string, cursor: string | undefined, limit: number) => { entries: Entry[]; cursor?: string }) | null =
    null

  override async list(...[path, options]: Parameters<MemoryProvider['list']>): ReturnType<MemoryProvider['list']> {
    this.lists++
    const fault = this.faults.get(`${path}/`)?.()
    if (fault instanceof Error) throw fault
    return this.entries?.(path, options.cursor, options.limit) ?? super.list(path, options)
  }

  override async read(...[path, options]: Parameters<MemoryProvider['read']>): ReturnType<MemoryProvider['read']> {
    const fault = this.faults.get(path)?.()
    if (fault instanceof Error) throw fault
    const result = await super.read(path, options)
    const body = fault ?? result.body
    this.open++
    this.most = Math.max(this.most, this.open)
    body.once('close', () => {
      this.open--
    })
    return { ...result, body }
  }
}

async function startWatched(t: Test): Promise<{ server: HttpServer; provider: Watched; url: string; id: string }> {
  const provider = new Watched(64 * 1024 * 1024)
  const adapter: AdapterDefinition = {
    type: 'watched',
    apiVersion: 1,
    title: 'Watched',
    configSchema: { type: 'object', properties: {} },
    open: async () => provider,
  }
  const server = await startHttp(t, { adapters: [adapter] })
  const id = server.others.get('watched') ?? ''
  return { server, provider, id, url: server.downloadUrl('/f', { providerId: id }) }
}

async function fill(provider: Watched, files: Record<string, Buffer | string>): Promise<void> {
  for (const [path, bytes] of Object.entries(files)) {
    const { signal } = new AbortController()
    await provider.write(path as StoragePath, Readable.from([Buffer.from(bytes)]), { signal, overwrite: true })
  }
}

t.test('an archive lists the entries that could not be read, and has all others', async t => {
  const { server, provider, id } = await startWatched(t)
  await fill(provider, { 'f/a': 'a', 'f/b': 'b', 'f/c': 'c', 'f/d/e': 'e', 'f/g': 'g', 'f/_left-out.txt': 'mine' })
  provider.faults.set('f/a', () => new StorageError('NOT_FOUND', 'It is gone.'))
  provider.faults.set('f/c', () => new StorageError('PERMISSION_DENIED', 'Not for you.'))
  provider.faults.set('f/d/', () => new StorageError('NOT_FOUND', 'There is no such folder.'))
  const { file } = await archiveOf(t, server, '/f', id)
  const members = byName(await readWithPython(file))
  await testWithOthers(file)
  const names = ['f/', 'f/_left-out (1).txt', 'f/_left-out.txt', 'f/b', 'f/d/', 'f/g']
  t.same([...members.keys()].toSorted(), names)
  t.equal(members.get('f/_left-out.txt')?.sha256, sha256('mine'))
  const report = 'Not in this archive:\n\nf/a: It is gone.\nf/c: Not for you.\nf/d: There is no such folder.\n'
  t.equal(members.get('f/_left-out (1).txt')?.sha256, sha256(report))
  t.match([provider.most, provider.open], [1, 0], 'one file was open at a time')
  provider.lists = 0
  const head = await fetch(server.downloadUrl('/f', { providerId: id }), {
    method: 'HEAD',
    headers: server.authorization,
  })
  t.match([head.status, provider.lists], [200, 0], 'HEAD lists nothing')
  provider.faults.set('f/', () => new StorageError('RATE_LIMITED', 'Wait.'))
  const refused = await fetch(server.downloadUrl('/f', { providerId: id }), { headers: server.authorization })
  t.match(
    [refused.status, refused.headers.get('content-disposition')],
    [503, null],
    'a failure before the first byte is an error response',
  )
})

atNight(t, 'an archive lists what is too deep, and has all else', async t => {
  const { server, provider, id } = await startWatched(t)
  await fill(provider, { 'f/a': 'a', [`f/${'d/'.repeat(514)}deep`]: 'deep', 'f/z': 'z' })
  const { file } = await archiveOf(t, server, '/f', id)
  const members = byName(await readWithPython(file))
  const last = `f${'/d'.repeat(513)}`
  for (const name of ['f/a', 'f/z', `${last}/`]) t.ok(members.has(name), name.slice(-10))
  t.notOk(members.has(`${last}/d/`))
  const report = `Not in this archive:\n\n${last}: The folder is deeper than 512 folders.\n`
  t.equal(members.get('f/_left-out.txt')?.sha256, sha256(report))
})

atNight(t, 'the list of what is left out gets a free name, however many are taken', async t => {
  const { server, provider, id } = await startWatched(t)
  const taken = ['_left-out.txt', ...Array.from({ length: 12 }, (_, index) => `_left-out (${index + 1}).txt`)]
  await fill(provider, Object.fromEntries(taken.map(name => [`f/${name}`, 'mine'])))
  await fill(provider, { 'f/gone': '' })
  provider.faults.set('f/gone', () => new StorageError('NOT_FOUND', 'It is gone.'))
  const { file } = await archiveOf(t, server, '/f', id)
  const members = byName(await readWithPython(file))
  for (const name of taken) t.equal(members.get(`f/${name}`)?.sha256, sha256('mine'), name)
  const reports = [...members.keys()].filter(name => /^f\/_left-out \([0-9a-f-]{36}\)\.txt$/.test(name))
  t.equal(reports.length, 1)
})

t.test('the connection is cut if an archive cannot be completed', async t => {
  const { server, provider, url } = await startWatched(t)
  await fill(provider, { 'f/a': 'a', 'f/b.txt': 'b'.repeat(300_000), 'f/b.bin': 'b'.repeat(300_000), 'f/c': 'c' })
  const large = Buffer.from('b'.repeat(300_000))
  const faults: Record<string, () => Error | Readable> = {
    'one byte short': () => Readable.from([large.subarray(1)]),
    'one byte too long': () => Readable.from([large, Buffer.from('!')]),
    'failed in the middle': () =>
      Readable.from(
        (async function* () {
          yield large.subarray(0, 100_000)
          throw new StorageError('UNAVAILABLE', 'Broken.')
        })(),
      ),
    'the back end becomes unavailable': () => new StorageError('UNAVAILABLE', 'Broken.'),
  }
  for (const [what, fault] of Object.entries(faults)) {
    for (const path of ['f/b.txt', 'f/b.bin']) {
      provider.faults.clear()
      provider.faults.set(path, fault)
      await t.rejects(
        fetch(url, { headers: server.authorization }).then(response => response.arrayBuffer()),
        `${what} ${path}`,
      )
      await eventually(() => {
        if (provider.open > 0) throw new Error(`${provider.open} bodies are open`)
      })
    }
  }
  provider.faults.clear()
  t.equal((await fetch(url, { headers: server.authorization })).status, 200)
})

t.test('reading stops when the client disconnects', async t => {
  const { server, provider, url } = await startWatched(t)
  const files = Array.from({ length: extent({ gate: 12, nightly: 50 }) }, (_, index) => [
    `f/${index}.${index % 2 ? 'txt' : 'bin'}`,
    Buffer.alloc(1_000_000),
  ])
  await fill(provider, Object.fromEntries(files))
  let endless = 0
  provider.faults.set('f/10.bin', () => {
    endless++
    return new Readable({ read() {} })
  })
  for (let round = 1; round <= extent({ gate: 1, nightly: 3 }); round++) {
    const client = new AbortController()
    const response = await fetch(url, { headers: server.authorization, signal: client.signal })
    const reading = response.arrayBuffer().catch(() => {})
    await eventually(() => {
      if (endless < round) throw new Error('the body that never ends is not open yet')
    })
    client.abort()
    await reading
    await eventually(() => {
      if (provider.open > 0 || server.app.transfers.size > 0) throw new Error('something is still open')
    })
  }
  t.equal(provider.most, 1)
})

t.test('one credential downloads 8 folders at a time; others are not affected', async t => {
  const { server, provider, id, url } = await startWatched(t)
  // A first file large enough that the status is sent before the second file is read.
  await fill(provider, { 'f/0.bin': Buffer.alloc(100_000), 'f/a': 'a' })
  provider.faults.set('f/a', () => new Readable({ read() {} }))
  const { services } = server
  const viewer = await services.credentials.authenticate(server.token, testOrigin)
  const { key } = await services.apiKeys.create(viewer, {
    name: 'other',
    scopes: ['read'],
    providerAccess: { restrictions: [{ providerId: id, basePath: '/' }] },
  })
  const client = new AbortController()
  const begin = (headers: Record<string, string> = server.authorization, at = url) =>
    fetch(at, { headers, signal: client.signal })
  const answers = await Promise.all(Array.from({ length: 20 }, () => begin()))
  const begun = answers.filter(({ status }) => status === 200)
  t.equal(begun.length, 8)
  for (const refused of answers.filter(answer => !begun.includes(answer))) {
    t.equal(refused.status, 429)
    t.match(await refused.json(), { errors: [{ extensions: { reason: 'TOO_MANY_ARCHIVES', retryable: true } }] })
  }
  t.equal((await begin({ authorization: `Bearer ${key}` })).status, 200, 'another credential')
  const ticket = services.files.link(viewer, { providerId: id, path: '/f' }, { expiresIn: 60, inline: false })
  const linked = await begin({}, `${server.url}/api/download/proxy?ticket=${ticket}`)
  t.equal(linked.status, 429, 'a link counts as the credential that made it')
  const file = server.downloadUrl('/f/a', { providerId: id })
  t.equal((await fetch(file, { method: 'HEAD', headers: server.authorization })).status, 200, 'files are not counted')
  await begun[0]?.body?.cancel()
  await eventually(async () => {
    const next = await begin()
    if (next.status !== 200) throw new Error(`still ${next.status}`)
  })
  client.abort()
  await eventually(() => {
    if (provider.open > 0) throw new Error(`${provider.open} bodies are open`)
  })
})

atNight(t, 'ZIP64: an archive can have more than 65,535 entries', async t => {
  const { server, provider, url } = await startWatched(t)
  await fill(provider, { 'f/x': '' })
  const total = 70_000
  let most = 0
  const plain = { kind: 'directory', size: null, modifiedAt: null, etag: null, mimeType: null } as const
  provider.entries = (path, cursor, limit) => {
    if (path !== 'f') return { entries: [] }
    const start = Number(cursor ?? 0)
    most = Math.max(most, limit)
    const entries = Array.from({ length: Math.min(limit, total - start) }, (_, at) => ({
      ...plain,
      name: `${start + at}`,
    }))
    return start + limit < total ? { entries, cursor: `${start + limit}` } : { entries }
  }
  const file = join(await temporary(t), 'many.zip')
  await fetchArchive(url, file, server.authorization)
  const members = await readWithPython(file)
  t.equal(members.length, total + 1)
  t.equal(new Set(members.map(({ name }) => name)).size, total + 1)
  t.ok(most <= 1000, 'a listing is read page by page')
  await testWithOthers(file)
})

function zeros(size: number): Readable {
  const piece = Buffer.alloc(1024 * 1024)
  let left = size
  return new Readable({
    read() {
      const length = Math.min(left, piece.length)
      left -= length
      this.push(length > 0 ? piece.subarray(0, length) : null)
    },
  })
}

// Hashing and testing 4 GiB takes long.
atNight(t, 'ZIP64: an archive can have more than 4 GiB', async t => {
  const { server, provider, url } = await startWatched(t)
  const size = 2 ** 32 + 12_345
  await fill(provider, { 'f/a.bin': '', 'f/b.txt': 'behind it, '.repeat(100) })
  const { entries } = await provider.list('f' as StoragePath, { limit: 2, signal: new AbortController().signal })
  provider.entries = () => ({ entries: entries.map(entry => (entry.name === 'a.bin' ? { ...entry, size } : entry)) })
  const read = provider.read.bind(provider)
  provider.read = async (path, options) => {
    const result = await read(path, options)
    return path === 'f/a.bin' ? { entry: { ...result.entry, size }, body: zeros(size) } : result
  }
  // The unknown type is stored uncompressed, so the second file starts after 4 GiB.
  const file = join(await temporary(t), 'large.zip')
  await fetchLarge(url, file, server.authorization)
  const members = byName(await readWithPython(file))
  t.equal(members.get('f/a.bin')?.size, size)
  t.equal(members.get('f/b.txt')?.sha256, sha256('behind it, '.repeat(100)))
  await testWithOthers(file, 'f/b.txt')
})

t.test('a file that changes while it is read is included and reported', async t => {
  const server = await startHttp(t)
  await mkdir(join(server.folder, 'logs'))
  const log = join(server.folder, 'logs', 'a.zip')
  // More than the buffers of a connection hold.
  const size = extent({ gate: 20, nightly: 32 }) * 1024 * 1024
  await writeFile(log, randomBytes(size))
  const response = await fetch(server.downloadUrl('/logs'), { headers: server.authorization })
  const pieces: Uint8Array[] = []
  for await (const piece of response.body ?? []) if (pieces.push(piece) === 1) await appendFile(log, 'more')
  const file = join(await temporary(t), 'archive.zip')
  await writeFile(file, Buffer.concat(pieces))
  const members = byName(await readWithPython(file))
  t.equal(members.get('logs/a.zip')?.size, size)
  t.ok(members.has('logs/_left-out.txt'))
  t.match(
    Buffer.concat(pieces).toString('latin1'),
    /Changed while they were read, so they can mix two versions:\n\nlogs\/a\.zip\n/,
  )
})
