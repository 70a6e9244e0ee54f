/** The sizes of properties and locks are bounded, because PROPFIND repeats them for each entry. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { davClient, lockInfo, propfindOf, resourcesIn, setProperty, tokenOf } from './client.ts'

const kib = 1024
const shallow = { depth: '0' }

async function startWorld(t: Test) {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.com')
  const root = join(app.folder, 'files')
  await mkdir(join(root, 'folder/inner'), { recursive: true })
  await writeFile(join(root, 'folder/file'), 'x')
  const files = await app.connectProvider(token, 'local', { root }, 'Files')
  const { key } = await app.createKey(token, { name: 'all', scopes: ['write'] })
  const dav = davClient(app, key)
  const found = async (path: string, body?: string) => {
    const [resource] = await resourcesIn(await dav('PROPFIND', path, { headers: shallow, ...(body && { body }) }))
    return resource?.found ?? {}
  }
  return { app, root, files, key, dav, found }
}

/** @param size characters of the value */
const property = (name: string, size: number) => `<${name} xmlns="urn:x">${'x'.repeat(size)}</${name}>`
const propertyUpdate = (xml: string) => `<D:propertyupdate xmlns:D="DAV:">${xml}</D:propertyupdate>`
const removing = (names: readonly string[]) =>
  `<D:remove><D:prop>${names.map(name => property(name, 0)).join('')}</D:prop></D:remove>`

t.test('properties', async t => {
  const { app, root, files, key, dav, found } = await startWorld(t)
  const path = '/files/folder/file'
  const set = (xml: string, at = path) => dav('PROPPATCH', at, { body: setProperty(xml) })

  await t.test('an entry has at most 64 KiB of properties, and 100', async t => {
    t.match((await set(property('a', 30 * kib) + property('b', 30 * kib))).text, /200 OK/)
    const mixed = propertyUpdate(`<D:set><D:prop>${property('c', 10 * kib)}</D:prop></D:set>${removing(['unknown'])}`)
    const full = await dav('PROPPATCH', path, { body: mixed })
    t.equal(full.status, 207)
    t.match(
      full.text,
      /<x:c [^>]*\/><\/D:prop><D:status>HTTP\/1\.1 507 Insufficient Storage<\/D:status><D:responsedescription>[^<]*100 properties, with 64 KiB in all: remove some of them/,
    )
    t.match(full.text, /<x:unknown [^>]*\/><\/D:prop><D:status>HTTP\/1\.1 424 Failed Dependency</)
    t.same(Object.keys(await found(path)).slice(-2), ['a', 'b'])
    t.match((await set(property('large', 70 * kib), '/files/folder')).text, /507 /)
    const many = Array.from({ length: 101 }, (_, n) => property(`p${n}`, 1)).join('')
    t.match((await set(many, '/files/folder')).text, /507 /)
    t.notMatch(Object.keys(await found('/files/folder')).join(), /large|p\d/, 'nothing is changed')
    const smaller = propertyUpdate(`${removing(['a'])}<D:set><D:prop>${property('c', 10 * kib)}</D:prop></D:set>`)
    t.match((await dav('PROPPATCH', path, { body: smaller })).text, /200 OK/)
    t.same(Object.keys(await found(path)).slice(-2), ['b', 'c'])
  })

  await t.test('concurrent changes do not exceed the limit together', async t => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => set(property(`p${n}`, 20 * kib), '/files/folder/inner')),
    )
    t.equal(answers.filter(({ text }) => text.includes('200 OK')).length, 3)
    t.equal(answers.filter(({ text }) => text.includes('507 ')).length, 5)
  })

  await t.test('a small request does not become a large property, owner or response', async t => {
    const namespace = `urn:${'"'.repeat(12_000)}`
    const nested = `<a xmlns="urn:x" xmlns:n='${namespace}'>${'<n:b/>'.repeat(1500)}</a>`
    t.match((await set(nested)).text, /507 Insufficient Storage/)
    const owner = lockInfo().replace('<D:href>a test</D:href>', `<a xmlns:n='${namespace}'>${'<n:b/>'.repeat(100)}</a>`)
    t.match(await dav('LOCK', path, { body: owner }), { status: 413, reason: 'TOO_LARGE' })
    const names = Array.from({ length: 150 }, (_, n) => `<n:p${n}/>`).join('')
    const wanted = propfindOf('x:a').replace('<x:a/>', names).replace('xmlns:x="urn:x"', `xmlns:n='${namespace}'`)
    t.match(await dav('PROPFIND', path, { body: wanted, headers: shallow }), { status: 400, reason: 'INVALID_INPUT' })
    const removed = propertyUpdate(`<D:remove><D:prop xmlns:n='${namespace}'>${names}</D:prop></D:remove>`)
    t.match(await dav('PROPPATCH', path, { body: removed }), { status: 400, reason: 'INVALID_INPUT' })
    const twice = '<propfind xmlns="DAV:"><allprop/><include><displayname/></include></propfind>'
    const { text } = await dav('PROPFIND', path, { body: twice, headers: shallow })
    t.equal(text.split('<D:displayname>').length, 2, 'a property is returned once')
  })

  const entries = extent({ gate: 16, nightly: 40 })
  await t.test('earlier properties beyond the limit are returned and can be removed', async t => {
    await mkdir(join(root, 'earlier'))
    const names = Array.from({ length: entries }, (_, n) => `${n}`)
    await Promise.all(names.map(name => writeFile(join(root, 'earlier', name), '')))
    await sql`insert into entry_properties (provider_id, path, name, xml)
      select ${files}, '/earlier/' || n || '/', '{urn:x}p' || p,
        '<x:p' || p || ' xmlns:x="urn:x">' || repeat('x', 16000) || '</x:p' || p || '>'
      from generate_series(0, ${entries - 1}) n, generate_series(1, 100) p`.execute(app.db)
    const { text } = await dav('PROPFIND', '/files/earlier', { headers: { depth: '1' } })
    t.equal(text.match(/<D:response>/g)?.length, entries + 1)
    t.equal(text.match(/<x:p\d+ [^>]*>x{16000}<\/x:p\d+>/g)?.length, entries * 100)
    t.match((await set(property('new', 1), '/files/earlier/0')).text, /507 /)
    const most = Array.from({ length: 97 }, (_, n) => `p${n + 1}`)
    t.match((await dav('PROPPATCH', '/files/earlier/0', { body: propertyUpdate(removing(most)) })).text, /200 OK/)
    t.match((await set(property('new', 1), '/files/earlier/0')).text, /200 OK/)
    t.same(Object.keys(await found('/files/earlier/0')).slice(-4), ['new', 'p100', 'p98', 'p99'])
  })

  await t.test('a response ends when its client has gone', async t => {
    const cancel = new AbortController()
    const response = await fetch(`${app.url}/dav/files/earlier`, {
      method: 'PROPFIND',
      headers: { authorization: `Bearer ${key}`, depth: '1' },
      signal: cancel.signal,
    })
    await response.body?.getReader().read()
    t.equal(app.app.server.transfers.size, 1)
    cancel.abort()
    await until(() => app.app.server.transfers.size === 0 || app.app.server.transfers.size)
    t.match(app.logged(), 'the client disconnected during a response')
  })
  t.notMatch(app.logged(), /"level":50/)
})

t.test('locks', async t => {
  const { app, files, dav, found } = await startWorld(t)
  const lock = (path: string, depth: '0' | 'infinity', body = lockInfo('shared')) =>
    dav('LOCK', path, { body, headers: { depth } })
  const unlock = (path: string, token: string) => dav('UNLOCK', path, { headers: { 'lock-token': `<${token}>` } })
  const locksAt = async (path: string) =>
    (await found(path, propfindOf('D:lockdiscovery'))).lockdiscovery?.split(' ').length

  await t.test('an entry has at most 16 shared locks, with those around it', async t => {
    const tokens: string[] = []
    for (let n = 0; n < 8; n += 1) tokens.push(tokenOf(await lock('/files/folder', 'infinity')))
    const own: string[] = []
    for (let n = 0; n < 8; n += 1) own.push(tokenOf(await lock('/files/folder/file', '0')))
    t.equal(new Set([...tokens, ...own]).size, 16)
    t.equal(await locksAt('/files/folder/file'), 16)
    for (const [path, depth] of [
      ['/files/folder/file', '0'],
      ['/files/folder', 'infinity'],
    ] as const) {
      const refused = await lock(path, depth)
      t.match(refused, { status: 423, reason: 'LOCKED' })
      t.match(refused.text, /The entry has 16 shared locks, [^<]*: try again when one of them is released/)
      t.match(refused.text, `<D:no-conflicting-lock><D:href>/dav${path}</D:href>`)
    }
    t.equal((await lock('/files/folder/inner', '0')).status, 200, 'another entry of the folder')
    t.equal((await unlock('/files/folder/file', own[0] ?? '')).status, 204)
    t.equal((await lock('/files/folder/file', '0')).status, 200)
    for (const token of tokens) t.equal((await unlock('/files/folder', token)).status, 204)
    t.equal(await locksAt('/files/folder/file'), 8)
  })

  await t.test('an owner has at most 1 KiB, and an earlier one can be longer', async t => {
    const ownedBy = (owner: string) => lockInfo('shared').replace('a test', owner)
    t.equal((await lock('/files/folder/inner', '0', ownedBy('x'.repeat(900)))).status, 200)
    const refused = await lock('/files/folder/inner', '0', ownedBy('x'.repeat(1100)))
    t.match(refused, { status: 413, reason: 'TOO_LARGE' })
    const { rows } = await sql<{ token: string }>`
      insert into entry_locks (token, provider_id, path, workspace_id, user_id, is_exclusive, is_deep, owner, expires_at)
      select gen_random_uuid(), p.id, '/folder/inner/', p.workspace_id, m.user_id, false, false,
        '<x:owner xmlns:x="DAV:">' || repeat('x', 4000) || '</x:owner>', now() + interval '1 hour'
      from generate_series(1, 20) n, providers p, members m where p.id = ${files}
      returning token`.execute(app.db)
    t.equal(await locksAt('/files/folder/inner'), 22)
    for (const { token } of rows) {
      t.equal((await unlock('/files/folder/inner', `opaquelocktoken:${token}`)).status, 204)
    }
  })
  t.notMatch(app.logged(), /"level":50/)
})
