/** WebDAV requests, beyond what litmus tries. */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startApp } from '../support/app.ts'
import { extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { type Dav, davClient, lockInfo, propfindOf, resourcesIn, setProperty, tokenOf } from './client.ts'

async function startWorld(t: Test) {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.com')
  const root = join(app.folder, 'files')
  await mkdir(join(root, 'team/reports'), { recursive: true })
  await mkdir(join(root, 'private'))
  await writeFile(join(root, 'team/reports/a.txt'), 'a')
  const files = await app.connectProvider(token, 'local', { root }, 'Files')
  const memory = await app.connectProvider(token, 'memory', {}, 'Memory')
  const { key } = await app.createKey(token, { name: 'all', scopes: ['write'] })
  const { key: reader } = await app.createKey(token, { name: 'reader', scopes: ['read'] })
  const { key: narrow, id: narrowId } = await app.createKey(token, {
    name: 'narrow',
    scopes: ['write'],
    providerAccess: { restrictions: [{ providerId: files, basePath: '/team/reports' }] },
  })
  return { app, token, root, files, memory, key, reader, narrow, narrowId, dav: davClient(app, key) }
}

const depth = (value: string) => ({ depth: value })
const hrefs = async (dav: Dav, path: string) =>
  (await resourcesIn(await dav('PROPFIND', path, { headers: depth('1') }))).map(({ href }) => href)

t.test('WebDAV', async t => {
  const world = await startWorld(t)
  const { app, token, root, files, key, dav } = world

  await t.test('a key opens it, as a password or as a bearer token, and nothing else does', async t => {
    const none = davClient(app, null)
    const refused = await none('PROPFIND', '/', { headers: depth('0') })
    t.match(refused, { status: 401, reason: 'CREDENTIAL_REQUIRED' })
    t.equal(refused.headers.get('www-authenticate'), 'Basic realm="Stowage", charset="UTF-8"')
    const options = await none('OPTIONS', '/files/nothing')
    t.match(options, { status: 200, text: '' })
    t.match([options.headers.get('dav'), options.headers.get('ms-author-via')], ['1, 2', 'DAV'])
    t.match(options.headers.get('allow'), /\bPROPFIND\b.*\bLOCK\b/)
    const unknown = await dav('SEARCH', '/files', { body: '<x/>' })
    t.match(unknown, { status: 405, reason: 'METHOD_NOT_ALLOWED' })
    t.match(unknown.headers.get('allow'), /\bPROPFIND\b/)
    t.match(await davClient(app, 'wrong')('SEARCH', '/files'), { status: 401, reason: 'INVALID_CREDENTIAL' })
    const attempts: [string, Record<string, string>, number][] = [
      ['a bearer token', { authorization: `Bearer ${key}` }, 207],
      ['a session as a bearer token', { authorization: `Bearer ${token}` }, 207],
      ['no user name', { authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}` }, 207],
      ['a session as a password', { authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` }, 401],
      [
        'the password of an account',
        { authorization: `Basic ${Buffer.from('owner@example.com:x').toString('base64')}` },
        401,
      ],
      ['nonsense', { authorization: 'Basic %%%' }, 401],
      ['a cookie', { cookie: `stowage_session=${token}`, 'x-stowage-console': '1' }, 401],
    ]
    for (const [what, headers, status] of attempts) {
      t.equal((await none('PROPFIND', '/', { headers: { ...headers, ...depth('0') } })).status, status, what)
    }
    const readOnly = davClient(app, world.reader)
    t.equal((await readOnly('GET', '/files/team/reports/a.txt')).text, 'a')
    t.match(await readOnly('PUT', '/files/x', { body: 'x' }), { status: 403, reason: 'SCOPE_REQUIRED' })
  })

  await t.test('a key with a base path sees only the way down to it', async t => {
    const narrow = davClient(app, world.narrow)
    t.same(await hrefs(dav, '/'), ['/dav/', '/dav/files/', '/dav/memory/'])
    t.same(await hrefs(narrow, '/'), ['/dav/', '/dav/files/'])
    t.same(await hrefs(narrow, '/files'), ['/dav/files/', '/dav/files/team/'])
    t.same(await hrefs(narrow, '/files/team/'), ['/dav/files/team/', '/dav/files/team/reports/'])
    t.same(await hrefs(narrow, '/files/team/reports'), ['/dav/files/team/reports/', '/dav/files/team/reports/a.txt'])
    for (const path of ['/files/private', '/files/team/other', '/memory/', '/nothing/']) {
      t.equal((await narrow('PROPFIND', path, { headers: depth('1') })).status, 403, path)
    }
    t.equal((await narrow('GET', '/files/team')).status, 403)
    t.equal((await narrow('PUT', '/files/team/x', { body: 'x' })).status, 403)
    t.equal((await narrow('PUT', '/files/team/reports/mine', { body: 'x' })).status, 201)
    t.equal(
      (await narrow('MOVE', '/files/team/reports/mine', { headers: { destination: '/dav/files/x' } })).status,
      403,
    )
    await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: world.narrowId }, token)
    t.match(await narrow('GET', '/files/team/reports/a.txt'), { status: 401, reason: 'KEY_REVOKED' })
  })

  await t.test('a member with several folders sees the ways down to all of them', async t => {
    const basePaths = ['/team/reports', '/team/plans/new', '/private']
    const providerAccess = { restrictions: basePaths.map(basePath => ({ providerId: files, basePath })) }
    const invite = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
    const { createInvite } = await app.ask(invite, { input: { role: 'EDITOR', providerAccess } }, token)
    const member = await app.register('several@example.com', createInvite)
    const several = davClient(app, (await app.createKey(member.token, { name: 'several', scopes: ['write'] })).key)
    t.same(await hrefs(several, '/files'), ['/dav/files/', '/dav/files/private/', '/dav/files/team/'])
    t.same(await hrefs(several, '/files/team'), [
      '/dav/files/team/',
      '/dav/files/team/plans/',
      '/dav/files/team/reports/',
    ])
    t.same(await hrefs(several, '/files/private'), ['/dav/files/private/'])
    const destination = '/dav/files/private/a.txt'
    t.equal((await several('COPY', '/files/team/reports/a.txt', { headers: { destination } })).status, 201)
    t.equal((await several('DELETE', '/files/private/a.txt')).status, 204)
    t.equal((await several('PUT', '/files/team/x', { body: 'x' })).status, 403)
  })

  await t.test('PROPFIND returns what is asked for, of folders of any size', async t => {
    const infinite = await dav('PROPFIND', '/files/')
    t.equal(infinite.status, 403)
    t.match(infinite.text, '<D:propfind-finite-depth/>')
    const body = propfindOf('D:getcontentlength', 'D:resourcetype', 'x:nothing', 'oc:fileid', 'oc:permissions')
    const [file] = await resourcesIn(await dav('PROPFIND', '/files/team/reports/a.txt', { headers: depth('1'), body }))
    t.match(file, {
      href: '/dav/files/team/reports/a.txt',
      found: { getcontentlength: '1', resourcetype: '', fileid: /^\d+$/, permissions: 'GDNVW' },
      missing: ['nothing'],
    })
    const quota = propfindOf('D:quota-available-bytes', 'D:quota-used-bytes', 'D:displayname')
    const [top] = await resourcesIn(await dav('PROPFIND', '/memory/', { headers: depth('0'), body: quota }))
    t.match(top?.found, { displayname: 'Memory', 'quota-used-bytes': /^\d+$/, 'quota-available-bytes': /^\d+$/ })
    const names = '<propfind xmlns="DAV:"><propname/></propfind>'
    const [named] = await resourcesIn(await dav('PROPFIND', '/files/team', { headers: depth('0'), body: names }))
    t.match(Object.keys(named?.found ?? {}), ['resourcetype', 'displayname'])

    const many = join(root, 'many')
    await mkdir(many)
    const expected = Array.from({ length: extent({ gate: 1100, nightly: 2500 }) }, (_, n) => `file ${n} & <ä>`)
    await Promise.all(expected.map(name => writeFile(join(many, name), '')))
    const listed = await resourcesIn(await dav('PROPFIND', '/files/many', { headers: depth('1') }))
    t.same(
      listed
        .slice(1)
        .map(({ found }) => found.displayname)
        .toSorted(),
      expected.toSorted(),
    )
    t.ok(
      listed.every(({ href }) => /^\/dav\/files\/many\/(?:[\w%()-]+)?$/.test(href)),
      'addresses are encoded',
    )
    t.match(await dav('PROPFIND', '/files/nothing', { headers: depth('1') }), { status: 404, reason: 'NOT_FOUND' })
    t.equal((await dav('PROPFIND', '/files/team/reports/a.txt/x', { headers: depth('0') })).status, 404)
  })

  await t.test('PUT stores any body, and what its headers say', async t => {
    t.equal((await dav('PUT', '/files/finder.txt', { body: '' })).status, 201)
    const chunked = Readable.toWeb(Readable.from(['chunked ', 'content'], { objectMode: false })) as ReadableStream
    t.equal((await dav('PUT', '/files/finder.txt', { body: chunked })).status, 204)
    t.equal(await readFile(join(root, 'finder.txt'), 'utf8'), 'chunked content')
    for (const name of ['._finder.txt', '.DS_Store'])
      t.equal((await dav('PUT', `/files/${name}`, { body: 'x' })).status, 201)

    const sha1 = createHash('sha1').update('timed').digest('hex')
    const timed = { 'x-oc-mtime': '981173106', 'oc-checksum': `SHA1:${sha1}` }
    const stored = await dav('PUT', '/files/timed', { headers: timed, body: 'timed' })
    t.match([stored.status, stored.headers.get('x-oc-mtime')], [201, 'accepted'])
    t.equal((await stat(join(root, 'timed'))).mtime.getTime(), 981_173_106_000)
    const wrong = await dav('PUT', '/files/wrong', { headers: { 'oc-checksum': `SHA1:${sha1}` }, body: 'other' })
    t.match(wrong, { status: 422, reason: 'DIGEST_MISMATCH' })
    t.match(await dav('PUT', '/files/wrong', { headers: { 'oc-checksum': 'SHA1:12' }, body: 'x' }), { status: 400 })
    t.match(await dav('PUT', '/files/wrong', { headers: { 'x-oc-mtime': '-1' }, body: 'x' }), { status: 400 })
    t.notOk((await readdir(root)).includes('wrong'))

    t.match(await dav('PUT', '/files/missing/x', { body: 'x' }), { status: 409 })
    t.match(await dav('PUT', '/files/team', { body: 'x' }), { status: 405 })
    const etag = (await dav('HEAD', '/files/timed')).headers.get('etag') ?? ''
    t.equal((await dav('PUT', '/files/timed', { headers: { 'if-none-match': '*' }, body: 'x' })).status, 412)
    t.equal((await dav('PUT', '/files/timed', { headers: { 'if-match': '"other"' }, body: 'x' })).status, 412)
    t.equal((await dav('PUT', '/files/timed', { headers: { 'if-match': etag }, body: 'x' })).status, 204)
    t.equal((await dav('PUT', '/files/timed', { headers: { if: `([${etag}])` }, body: 'x' })).status, 412)
    const ranged = await dav('GET', '/files/finder.txt', { headers: { range: 'bytes=0-6' } })
    t.match([ranged.status, ranged.text], [206, 'chunked'])
    t.match(await dav('GET', '/files/team'), { status: 200, text: /WebDAV client/ })
  })

  await t.test('COPY and MOVE replace trees, but never what contains the source', async t => {
    const [tree, other] = [join(root, 'tree'), join(root, 'other')]
    await mkdir(join(tree, 'inner/deep'), { recursive: true })
    await writeFile(join(tree, 'inner/deep/file'), 'deep')
    await mkdir(other)
    await writeFile(join(other, 'old'), 'old')
    const to = (destination: string, more: Record<string, string> = {}) => ({ headers: { destination, ...more } })
    t.equal((await dav('COPY', '/files/tree', to('/dav/files/other', { overwrite: 'F' }))).status, 412)
    t.equal((await dav('COPY', '/files/tree', to('/dav/files/tree'))).status, 403)
    t.match(await dav('COPY', '/files/tree', to('/dav/files/tree/inner/x')), { status: 403, reason: 'INTO_ITSELF' })
    t.match(await dav('MOVE', '/files/tree/inner/deep', to('/dav/files/tree')), { status: 403, reason: 'INTO_ITSELF' })
    const alias = await app.connectProvider(token, 'local', { root: tree }, 'Alias')
    t.match(await dav('COPY', '/files/tree/inner/deep', to('/dav/alias/inner')), { status: 403, reason: 'INTO_ITSELF' })
    await app.ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id: alias }, token)
    t.equal(await readFile(join(tree, 'inner/deep/file'), 'utf8'), 'deep', 'nothing is lost')
    t.match(await dav('MOVE', '/files/tree', to('http://example.org/dav/files/x')), { status: 502 })
    t.match(await dav('MOVE', '/files/tree', to('/elsewhere')), { status: 502 })
    t.match(await dav('MOVE', '/files/tree', to('/dav/files/missing/x')), { status: 409 })
    t.match(await dav('MOVE', '/files/tree'), { status: 400 })

    const withUser = `${app.url.replace('://', '://any:secret@')}/dav/files/other`
    t.equal((await dav('COPY', '/files/tree', to(withUser))).status, 204)
    t.same(await readdir(other), ['inner'], 'the old tree is gone')
    t.equal((await dav('COPY', '/files/tree/inner', to('/dav/files/shallow', depth('0')))).status, 201)
    t.same(await readdir(join(root, 'shallow')), [])
    const moved = await dav('MOVE', '/files/other', to('/dav/memory/other'))
    t.match([moved.status, moved.headers.get('location')], [201, '/dav/memory/other/'])
    t.equal((await dav('GET', '/memory/other/inner/deep/file')).text, 'deep')
    t.notOk((await readdir(root)).includes('other'))
    t.match(await dav('DELETE', '/files/tree', { headers: depth('0') }), { status: 409, reason: 'NOT_EMPTY' })
    t.equal((await dav('DELETE', '/files/tree')).status, 204)
    t.match(await dav('DELETE', '/files/'), { status: 403, reason: 'ROOT_IS_FIXED' })
  })

  await t.test('locks hold on every replica, and end with their time and their entry', async t => {
    const replica = await app.replica()
    const there = davClient(replica, key)
    await writeFile(join(root, 'locked'), 'x')
    const locked = await dav('LOCK', '/files/locked', { body: lockInfo(), headers: { timeout: 'Second-4100000000' } })
    t.equal(locked.status, 200)
    t.match(locked.text, /<D:timeout>Second-3600<\/D:timeout>/)
    const lock = tokenOf(locked)
    const refused = await there('PUT', '/files/locked', { body: 'y' })
    t.match(refused, { status: 423, reason: 'LOCKED' })
    t.match(refused.text, '<D:lock-token-submitted><D:href>/dav/files/locked</D:href></D:lock-token-submitted>')
    t.match((await there('LOCK', '/files/locked', { body: lockInfo('shared') })).text, 'no-conflicting-lock')
    for (const method of ['DELETE', 'PROPPATCH', 'MOVE']) {
      const body = method === 'PROPPATCH' ? { body: setProperty('<x xmlns="urn:x"/>') } : {}
      t.equal(
        (await there(method, '/files/locked', { ...body, headers: { destination: '/dav/files/z' } })).status,
        423,
        method,
      )
    }
    const holding = { if: `(<${lock}>)` }
    t.equal((await there('PUT', '/files/locked', { body: 'y', headers: holding })).status, 204)
    const elsewhere = { if: `<${replica.url}/dav/files/locked> (<${lock}>)` }
    t.equal((await there('PUT', '/files/locked', { body: 'z', headers: elsewhere })).status, 204)
    const { key: ofOther } = await otherMember(world)
    const other = davClient(app, ofOther)
    t.equal(
      (await other('PUT', '/files/locked', { body: 'y', headers: holding })).status,
      423,
      'the token of another member',
    )
    t.equal((await other('UNLOCK', '/files/locked', { headers: { 'lock-token': `<${lock}>` } })).status, 403)
    const [discovered] = await resourcesIn(
      await other('PROPFIND', '/files/locked', { headers: depth('0'), body: propfindOf('D:lockdiscovery') }),
    )
    t.equal(discovered?.found.lockdiscovery, 'activelock')
    const refreshed = await there('LOCK', '/files/locked', { headers: { ...holding, timeout: 'Second-60' } })
    t.match(refreshed.text, /<D:timeout>Second-(?:60|59)</)
    t.equal(
      (await there('UNLOCK', '/files/locked', { headers: { 'lock-token': lock } })).status,
      204,
      'without brackets',
    )
    t.equal((await there('UNLOCK', '/files/locked', { headers: { 'lock-token': `<${lock}>` } })).status, 409)

    const created = await dav('LOCK', '/files/free', {
      body: lockInfo(),
      headers: { ...depth('0'), timeout: 'Second-1' },
    })
    t.equal(created.status, 201, 'a lock of a free name creates an empty file')
    await until(async () => (await there('PUT', '/files/free', { body: 'x' })).status === 204)

    const folder = await dav('LOCK', '/files/team', { body: lockInfo() })
    t.equal((await there('PUT', '/files/team/reports/a.txt', { body: 'y' })).status, 423, 'a deep lock')
    t.equal((await there('DELETE', '/files/team/reports/a.txt')).status, 423)
    const input = { providerId: files, path: '/team', toPath: '/renamed' }
    await app.ask('mutation ($input: MoveInput!) { move(input: $input) { path } }', { input }, token)
    await app.ask(
      'mutation ($input: MoveInput!) { move(input: $input) { path } }',
      { input: { ...input, path: '/renamed', toPath: '/team' } },
      token,
    )
    t.equal((await there('PUT', '/files/team/reports/a.txt', { body: 'a' })).status, 204, 'it is gone with the folder')
    t.equal((await dav('UNLOCK', '/files/team', { headers: { 'lock-token': `<${tokenOf(folder)}>` } })).status, 409)

    await sql`insert into entry_locks (token, provider_id, path, workspace_id, user_id, is_exclusive, is_deep, owner, expires_at)
      select gen_random_uuid(), p.id, '/flood-' || n || '/', p.workspace_id, m.user_id, true, false, '', now() + interval '1 hour'
      from generate_series(1, 1000) n, providers p, members m
      where p.id = ${files} and m.role = 'OWNER'`.execute(app.db)
    t.match(await dav('LOCK', '/files/finder.txt', { body: lockInfo() }), { status: 403, reason: 'TOO_MANY_LOCKS' })
    await sql`update entry_locks set expires_at = now()`.execute(app.db)
    const last = await dav('LOCK', '/files/finder.txt', { body: lockInfo() })
    t.equal(last.status, 200, 'expired locks do not count')
    const { rows } = await sql`select 1 from entry_locks`.execute(app.db)
    t.equal(rows.length, 1, 'nor do they fill the table')
    await dav('UNLOCK', '/files/finder.txt', { headers: { 'lock-token': `<${tokenOf(last)}>` } })
  })

  await t.test('dead properties follow their entries through every front end', async t => {
    await mkdir(join(root, 'labelled'))
    await writeFile(join(root, 'labelled/file'), 'x')
    const value = '<x:label xmlns:x="urn:x" xml:lang="de" a="1"><y xmlns="urn:y">ü &amp; <![CDATA[<z>]]></y></x:label>'
    const labelOf = async (path: string) => {
      const answer = await dav('PROPFIND', path, { headers: depth('0'), body: propfindOf('x:label') })
      return /<x:label.*<\/x:label>/s.exec(answer.text)?.[0]
    }
    for (const path of ['/files/labelled', '/files/labelled/file']) {
      t.equal((await dav('PROPPATCH', path, { body: setProperty(value) })).status, 207)
    }
    const label = await labelOf('/files/labelled/file')
    t.match(label, /xml:lang="de"/)
    t.match(label, 'ü &amp; &lt;z&gt;')
    const all = await resourcesIn(await dav('PROPFIND', '/files/labelled', { headers: depth('1') }))
    t.ok(all.length === 2 && all.every(({ found }) => found.label === 'y'))

    const mutate = (name: string, input: object) =>
      app.ask(
        `mutation ($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename } }`,
        { input: { providerId: files, ...input } },
        token,
      )
    await mutate('copy', { path: '/labelled', toPath: '/copied' })
    await mutate('rename', { path: '/labelled', name: 'named' })
    await mutate('move', { path: '/copied/file', toPath: '/moved' })
    await mutate('move', { path: '/named', toProviderId: world.memory, toPath: '/named' })
    for (const path of ['/files/copied', '/files/moved', '/memory/named', '/memory/named/file']) {
      t.equal(await labelOf(path), label, path)
    }
    for (const path of ['/files/copied/file', '/files/labelled', '/files/named'])
      t.equal(await labelOf(path), undefined, path)
    await mutate('delete', { path: '/moved' })
    await mutate('delete', { path: '/copied', recursive: true })
    await writeFile(join(root, 'moved'), 'new')
    await mkdir(join(root, 'copied'))
    for (const path of ['/files/moved', '/files/copied'])
      t.equal(await labelOf(path), undefined, `${path} is another entry`)

    const refused = await dav('PROPPATCH', '/files/moved', {
      body: setProperty('<D:getetag>x</D:getetag><a xmlns="urn:x"/>'),
    })
    t.match(refused.text, /403 Forbidden.*cannot-modify-protected-property.*424 Failed Dependency/s)
    t.match(await dav('PROPPATCH', '/files/nothing', { body: setProperty('<a xmlns="urn:x"/>') }), { status: 404 })
    const { rows } = await sql`select 1 from entry_properties where path = '/moved/'`.execute(app.db)
    t.equal(rows.length, 0, 'a refused change leaves nothing')
  })

  await t.test('the requests of the Finder, of Windows and of an editor succeed', async t => {
    type Step = [method: string, path: string, status: number, headers?: Record<string, string>, body?: string]
    let lock = ''
    const replay = async (name: string, steps: readonly Step[]) => {
      for (const [method, path, status, headers = {}, body] of steps) {
        const given = Object.entries(headers).map(([header, value]) => [header, value.replace('{lock}', lock)])
        const answer = await dav(method, `/files${path}`, {
          headers: Object.fromEntries(given),
          ...(body !== undefined && { body }),
        })
        t.equal(answer.status, status, `${name}: ${method} ${path}`)
        if (method === 'LOCK' && body !== undefined) lock = tokenOf(answer)
      }
    }
    const some = propfindOf('D:getlastmodified', 'D:getcontentlength', 'D:creationdate', 'D:resourcetype')
    const held = { if: '(<{lock}>)' }
    const times = setProperty(
      '<Z:Win32LastModifiedTime xmlns:Z="urn:schemas-microsoft-com:">Sun, 22 Nov 2026 12:00:00 GMT</Z:Win32LastModifiedTime>',
    )
    const save = (path: string): Step[] => [
      ['PUT', path, 201, {}, ''],
      ['LOCK', path, 200, { ...depth('0'), timeout: 'Second-600' }, lockInfo()],
      ['PUT', path, 204, held, 'content'],
      ['PROPFIND', path, 207, depth('0'), some],
      ['UNLOCK', path, 204, { 'lock-token': '<{lock}>' }],
    ]
    await replay('Finder', [
      ['OPTIONS', '/', 200],
      ['PROPFIND', '/', 207, depth('0'), some],
      ['PROPFIND', '/', 207, depth('1'), some],
      ['PROPFIND', '/._mac', 404, depth('0'), some],
      ['MKCOL', '/mac', 201],
      ...save('/mac/._note.txt'),
      ...save('/mac/note.txt'),
      ['MOVE', '/mac/note.txt', 201, { destination: `${app.url}/dav/files/mac/renamed%20note.txt`, overwrite: 'F' }],
      ['DELETE', '/mac/._note.txt', 204],
      ['DELETE', '/mac/', 204],
    ])
    await replay('Windows', [
      ['OPTIONS', '', 200, { translate: 'f' }],
      ['PROPFIND', '', 207, depth('0'), ''],
      ['PROPFIND', '/desktop.ini', 404, depth('0'), ''],
      ['MKCOL', '/New%20folder', 201],
      ['PROPFIND', '/New%20folder/a.docx', 404, depth('0'), ''],
      ['PUT', '/New%20folder/a.docx', 201, {}, ''],
      ['LOCK', '/New%20folder/a.docx', 200, { timeout: 'Second-3600' }, lockInfo()],
      ['PROPPATCH', '/New%20folder/a.docx', 207, held, times],
      ['HEAD', '/New%20folder/a.docx', 200],
      ['PUT', '/New%20folder/a.docx', 204, held, 'content'],
      ['LOCK', '/New%20folder/a.docx', 200, { ...held, timeout: 'Second-3600' }],
      ['PROPPATCH', '/New%20folder/a.docx', 207, held, times],
      ['UNLOCK', '/New%20folder/a.docx', 204, { 'lock-token': '<{lock}>' }],
      ['MOVE', '/New%20folder', 201, { destination: `${app.url}/dav/files/windows`, overwrite: 'F' }],
      ['DELETE', '/windows', 204],
    ])
    await replay('an editor that renames', [
      ['PUT', '/doc', 201, {}, 'one'],
      ['LOCK', '/doc', 200, {}, lockInfo()],
      ['PUT', '/.doc.tmp', 201, {}, 'two'],
      ['MOVE', '/.doc.tmp', 204, { destination: '/dav/files/doc', if: '</dav/files/doc> (<{lock}>)' }],
      ['UNLOCK', '/doc', 204, { 'lock-token': '<{lock}>' }],
    ])
    t.equal((await dav('GET', '/files/doc')).text, 'two')
  })

  await t.test('transfers end when their key is revoked', async t => {
    const { key: short, id } = await app.createKey(token, { name: 'short', scopes: ['write'] })
    await writeFile(join(root, 'large'), '')
    await truncate(join(root, 'large'), 1_000_000_000)
    const reading = await fetch(`${app.url}/dav/files/large`, { headers: { authorization: `Bearer ${short}` } })
    const reader = reading.body?.getReader()
    await reader?.read()
    // One minute, which the revocation cuts short.
    const dripping = Readable.from(
      (async function* () {
        for (let sent = 0; sent < 3000; sent += 1) {
          yield Buffer.alloc(1000)
          await sleep(20)
        }
      })(),
    )
    const body = Readable.toWeb(dripping) as ReadableStream
    const writing = davClient(app, short)('PUT', '/files/endless', { body }).then(
      ({ status }) => status,
      () => 'cut',
    )
    await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, token)
    t.match(String(await writing), /^(?:401|cut)$/)
    const rest = async () => {
      while (!(await reader?.read())?.done);
    }
    await t.rejects(rest(), 'the file does not arrive completely')
    t.notOk((await readdir(root)).includes('endless'))
  })

  await t.test('bad input is refused in XML', async t => {
    const bomb = `<!DOCTYPE a [<!ENTITY a "${'x'.repeat(100)}"><!ENTITY b "&a;&a;&a;">]><propfind xmlns="DAV:"><prop>&b;</prop></propfind>`
    const bodies: [method: string, body: string, status: number][] = [
      ['PROPFIND', bomb, 400],
      ['PROPFIND', '<propfind xmlns="DAV:"', 400],
      ['PROPFIND', '<propfind xmlns="DAV:"><prop><a/></prop><allprop/></propfind>', 400],
      ['PROPFIND', '<other xmlns="DAV:"/>', 400],
      ['PROPFIND', `<propfind xmlns="DAV:"><prop>${'<a/>'.repeat(2000)}</prop></propfind>`, 400],
      ['PROPFIND', `<propfind xmlns="DAV:">${' '.repeat(140_000)}<allprop/></propfind>`, 413],
      ['PROPPATCH', '', 400],
      ['PROPPATCH', '<propertyupdate xmlns="DAV:"/>', 400],
      ['PROPPATCH', bomb, 400],
      ['LOCK', '<lockinfo xmlns="DAV:"/>', 400],
      ['LOCK', `${lockInfo()}x`, 400],
      ['LOCK', lockInfo().replace('a test', 'x'.repeat(5000)), 413],
      ['MKCOL', 'body', 415],
    ]
    for (const [method, body, status] of bodies) {
      const answer = await dav(method, method === 'MKCOL' ? '/files/new' : '/files/finder.txt', {
        body,
        headers: depth('0'),
      })
      t.equal(answer.status, status, `${method} ${body.slice(0, 60)}`)
      t.match(answer.headers.get('content-type'), /^application\/xml/)
      t.match(answer.text, /<s:message>.+<\/s:message>/)
    }
    const headers: [method: string, name: string, value: string, status: number][] = [
      ['PROPFIND', 'depth', '2', 400],
      ['MOVE', 'depth', '0', 400],
      ['MOVE', 'overwrite', 'X', 400],
      ['PUT', 'if', '(', 400],
      ['PUT', 'if', '()', 400],
      ['PUT', 'if', '(Not)', 400],
      ['PUT', 'if', '<a> <b> (<c>)'.repeat(2), 400],
      ['PUT', 'if', `(${'<opaquelocktoken:x> '.repeat(101)})`, 400],
      ['PUT', 'if', '(<opaquelocktoken:00000000-0000-4000-8000-000000000000>)', 412],
      ['PUT', 'if', '(<DAV:no-lock>)', 412],
      ['PUT', 'if', '(Not <DAV:no-lock>)', 204],
      ['PUT', 'content-range', 'bytes 0-1/2', 400],
      ['PUT', 'content-encoding', 'gzip', 415],
      ['UNLOCK', 'lock-token', '<x>', 400],
      ['UNLOCK', 'lock-token', '<opaquelocktoken:x>', 409],
    ]
    for (const [method, name, value, status] of headers) {
      const given = { destination: '/dav/files/elsewhere', [name]: value }
      const body = method === 'PUT' ? { body: 'x' } : {}
      const answer = await dav(method, '/files/finder.txt', { ...body, headers: given })
      t.equal(answer.status, status, `${method} with ${name}: ${value.slice(0, 60)}`)
    }
    for (const path of [
      '/files//a',
      '/files/a//b',
      '/files/%2e%2e%2fx',
      '/files/a%2Fb',
      '/files/%00',
      '/files/%ff',
      '//a',
    ]) {
      const answer = await dav('PUT', path, { body: 'x' })
      t.equal(answer.status, 400, path)
      t.match(answer.headers.get('content-type'), /^application\/xml/, path)
    }
    for (const method of ['PUT', 'DELETE', 'MKCOL', 'LOCK', 'GET'])
      t.equal((await dav(method, '/')).status, 405, method)
    t.notMatch(app.logged(), /"level":50/)
  })
})

/** Returns a key of another member who may write everywhere. */
async function otherMember({ app, token }: Awaited<ReturnType<typeof startWorld>>) {
  const query = 'mutation ($input: CreateInviteInput!) { createInvite(input: $input) { invite } }'
  const { createInvite } = await app.ask(query, { input: { role: 'EDITOR', providerAccess: { all: true } } }, token)
  const { token: theirs } = await app.register('other@example.com', createInvite)
  return app.createKey(theirs, { name: 'theirs', scopes: ['write'] })
}

t.test('a base path of the server is part of all addresses', async t => {
  const app = await startApp(t, { settings: { basePath: '/stowage' } })
  const { token } = await app.register('owner@example.com')
  await app.connectProvider(token, 'memory', {}, 'Memory')
  const { key } = await app.createKey(token, { name: 'all', scopes: ['write'] })
  const [direct, prefixed] = [davClient(app, key), davClient({ url: `${app.url}/stowage` }, key)]
  for (const dav of [direct, prefixed]) {
    t.same(await hrefs(dav, '/'), ['/stowage/dav/', '/stowage/dav/memory/'])
    t.equal((await dav('PUT', '/memory/a', { body: 'a' })).status, 201)
    t.equal((await dav('MOVE', '/memory/a', { headers: { destination: '/stowage/dav/memory/b' } })).status, 201)
    t.equal((await dav('MOVE', '/memory/b', { headers: { destination: '/dav/memory/c' } })).status, 201)
    t.equal((await dav('DELETE', '/memory/c')).status, 204)
  }
})
