/** The server keeps the SHA-256 of what it writes, with the version that it belongs to, and nothing else. */
import { createHash, randomBytes } from 'node:crypto'
import { appendFile, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import type { StoragePath } from '../../adapters/contract.ts'
import { storeWritten } from '../../src/db/written-contents.ts'
import { ContentHash } from '../../src/storage/content-hash.ts'
import { isSameVersion } from '../../src/storage/content-tracker.ts'
import { metadataHeader, send, tus, tusPath } from '../http/tus.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { fill, runJob, startWorld } from './jobs-world.ts'

const world = await startWorld(t, { settings: { trashDays: 7 } })
const { app, token, a, b, rootA, rootB } = world
const { key } = await app.createKey(token, { name: 'all', scopes: ['write'] })
const headers = { authorization: `Basic ${Buffer.from(`anyone:${key}`).toString('base64')}` }
const { rows: slugs } = await sql<{ slug: string }>`select slug from providers where id = ${a}`.execute(app.db)
const davPath = (path: string) => `/dav/${slugs[0]?.slug}/${path}`
const targetOf = (path: string, server = app) => ({ url: server.url, token, metadata: { providerId: a, path } })
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

interface Row {
  path: string
  sha256: string
  size: string
  etag: string | null
  content_tag: string | null
}

async function rowsBelow(providerId: string, prefix: string): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select path, encode(sha256, 'hex') as sha256, size, etag, content_tag from content_checksums
    where provider_id = ${providerId} and starts_with(path, ${prefix}) order by path`.execute(app.db)
  return rows
}

const pathsBelow = async (prefix: string) => (await rowsBelow(a, prefix)).map(({ path }) => path)
const untilPaths = (prefix: string, paths: readonly string[]) =>
  until(async () => {
    const found = await pathsBelow(prefix)
    return found.join() === paths.join() || found
  })
const change = (mutation: string, variables: object) => app.ask(mutation, { ...variables }, token)

t.test('the SHA-256 of every write in order is kept', async t => {
  const bytes = randomBytes(300_000)
  const expected = sha256(bytes)
  await app.upload(token, a, '/w/rest.bin', bytes)
  const dav = await app.request(davPath('w/dav.bin'), { method: 'PUT', headers, body: bytes })
  t.equal(dav.status, 201)
  await send(targetOf('/w/tus.bin'), bytes)
  const copied = await runJob(world, {
    kind: 'COPY',
    sources: [{ providerId: a, path: '/w/rest.bin' }],
    target: { providerId: b, path: '/w' },
  })
  t.equal(copied.state, 'SUCCEEDED')
  await until(async () => (await rowsBelow(a, 'w/')).length === 3 && (await rowsBelow(b, 'w/')).length === 1)
  t.same(
    (await rowsBelow(a, 'w/')).map(row => [row.path, row.sha256, row.size]),
    ['w/dav.bin', 'w/rest.bin', 'w/tus.bin'].map(path => [path, expected, '300000']),
  )
  t.match(await rowsBelow(b, 'w/'), [{ path: 'w/rest.bin', sha256: expected }])
  for (const row of await rowsBelow(a, 'w/')) {
    const etag = (await app.download(token, a, `/${row.path}`)).headers.get('etag')
    t.equal(etag, `"${row.etag}"`, 'it is of the version that is there')
  }
})

atNight(t, 'an upload that this process continues in order is known, and another one is not', async t => {
  const bytes = randomBytes(200_000)
  const replica = await app.replica()
  const sendIn2 = async (name: string, second: typeof app) => {
    const metadata = metadataHeader({ providerId: a, path: `/t/${name}` })
    const created = await tus(targetOf(''), 'POST', tusPath, {
      'upload-length': String(bytes.length),
      'upload-metadata': metadata,
    })
    const { pathname } = new URL(created.headers.get('location') ?? '', app.url)
    for (const [server, from, to] of [[app, 0, 80_000] as const, [second, 80_000, bytes.length] as const]) {
      const headers = { 'upload-offset': String(from) }
      const sent = await tus(targetOf('', server), 'PATCH', pathname, headers, bytes.subarray(from, to))
      t.equal(sent.status, 204)
    }
  }
  await sendIn2('there.bin', replica)
  await sendIn2('here.bin', app)
  await replica.close()
  await untilPaths('t/', ['t/here.bin'])
  t.match(await rowsBelow(a, 't/'), [{ sha256: sha256(bytes) }])
  t.ok(bytes.equals(await readFile(join(rootA, 't/there.bin'))))
})

t.test('it follows the changes of this server', async t => {
  for (const path of ['/m/x/1', '/m/x/2', '/m/y', '/n/gone']) await app.upload(token, a, path, `text of ${path}`)
  await untilPaths('m/', ['m/x/1', 'm/x/2', 'm/y'])
  await change('mutation ($input: RenameInput!) { rename(input: $input) { id } }', {
    input: { providerId: a, path: '/m/x', name: 'z' },
  })
  t.same(await pathsBelow('m/'), ['m/y', 'm/z/1', 'm/z/2'])
  await change('mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }', {
    input: { providerId: a, path: '/m', recursive: true },
  })
  t.same(await pathsBelow('m/'), [], 'also into the trash')
  const dav = await app.request(davPath('n/gone'), { method: 'DELETE', headers })
  t.equal(dav.status, 204)
  t.same(await pathsBelow('n/'), [])
  t.same(
    (await pathsBelow('')).filter(path => path.includes('.stowage')),
    [],
  )
})

t.test('a change that somebody else makes is another version', async t => {
  await app.upload(token, a, '/o/file', 'before')
  await untilPaths('o/', ['o/file'])
  const [row] = await rowsBelow(a, 'o/')
  const now = async () => {
    const provider = await app.download(token, a, '/o/file')
    const etag = provider.headers.get('etag')?.slice(1, -1) ?? ''
    const { ino, size, mtimeMs } = await stat(join(rootA, 'o/file'))
    return { etag, contentTag: [ino, size, Math.round(mtimeMs)].map(part => part.toString(36)).join('-') }
  }
  t.equal((await now()).contentTag, row?.content_tag)
  await rename(join(rootA, 'o/file'), join(rootA, 'o/other'))
  await rename(join(rootA, 'o/other'), join(rootA, 'o/file'))
  t.not((await now()).etag, row?.etag)
  t.equal((await now()).contentTag, row?.content_tag, 'a rename writes nothing')
  await writeFile(join(rootA, 'o/file'), 'behind')
  t.not((await now()).contentTag, row?.content_tag)
  await utimes(join(rootA, 'o/file'), new Date(), new Date(0))
  await appendFile(join(rootA, 'o/file'), '!')
  t.not((await now()).contentTag, row?.content_tag)
})

atNight(t, 'two contents of one version leave none', async t => {
  const version = { size: 5, modifiedAt: new Date(1000), etag: null, contentTag: null }
  const of = (text: string, more = {}) => {
    const hash = createHash('sha256').update(text).digest()
    return { providerId: b, path: 'unclear' as StoragePath, ...version, ...more, sha256: hash }
  }
  const known = async () => (await rowsBelow(b, 'unclear')).map(row => row.sha256)
  await storeWritten(app.db, [of('first')])
  t.same(await known(), [sha256(Buffer.from('first'))])
  await storeWritten(app.db, [of('other')])
  t.same(await known(), [])
  await storeWritten(app.db, [of('other')])
  await storeWritten(app.db, [of('third', { modifiedAt: new Date(3000) })])
  t.same(await known(), [sha256(Buffer.from('third'))])

  t.ok(isSameVersion(version, { ...version, etag: 'a' }))
  t.notOk(isSameVersion({ ...version, etag: 'b' }, { ...version, etag: 'a' }))
  t.notOk(isSameVersion({ ...version, modifiedAt: null }, { ...version, modifiedAt: null }), 'nothing tells them apart')
  t.notOk(isSameVersion(version, { ...version, size: 6 }))
})

t.test('a content is known as a whole or not at all', async t => {
  const content = new ContentHash()
  content.update(Buffer.from('abc'))
  t.equal(content.digest(4), null)
  t.equal(content.digest(3)?.toString('hex'), sha256(Buffer.from('abc')))
  t.equal(content.digest(3), null)
  const fast = new ContentHash()
  const block = Buffer.alloc(8 * 1024 * 1024)
  for (let index = 0; index < 17; index += 1) fast.update(block)
  t.equal(fast.digest(17 * block.length), null, 'hashing would take more than a tenth of the time')
  t.end()
})

atNight(t, 'another back end has other files', async t => {
  await fill(rootB, { 'c/file': 'x' })
  t.not((await rowsBelow(b, '')).length, 0)
  await change('mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }', {
    input: { id: b, config: { root: join(rootB, 'c') } },
  })
  t.same(await rowsBelow(b, ''), [])
})
