/** Share links as their recipients use them: without an account, by the link alone. */

import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { pino } from 'pino'
import t from 'tap'
import { Upload } from 'tus-js-client'
import { startBackgroundWork } from '../../src/start/background.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { ask, drop, list, makeShare, read, sharePath } from '../support/shares.ts'
import { until } from '../support/until.ts'
import { readWithPython } from './archive-tools.ts'

const bytes = 'content'

t.test('share links', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder }, 'Disk')
  for (const path of ['/team/a.txt', '/team/b.txt', '/team/sub/c.txt', '/team/sub/deep/d.txt', '/secret/s.txt']) {
    await app.upload(token, providerId, path, `${bytes} of ${path}`)
  }
  const share = (input: object) => makeShare(app, token, { providerId, ...input })
  const onDisk = (path: string) => readFile(join(app.folder, path), 'utf8')

  t.test('a folder is listed and read at paths that begin at the folder', async t => {
    const { link } = await share({ path: '/team/sub', note: 'For you' })
    const facts = await ask(app, link)
    t.same(facts.body, {
      kind: 'VIEW',
      name: 'sub',
      isFolder: true,
      note: 'For you',
      sharedBy: null,
      expiresAt: null,
      downloadsLeft: null,
      bytesLeft: null,
      fileTypes: [],
      hasPassword: false,
    })
    t.equal(facts.headers.get('cache-control'), 'no-store')
    t.equal(facts.headers.get('referrer-policy'), 'no-referrer')
    const top = await list(app, link)
    t.same(top.body.next, null)
    t.match(
      top.body.entries.toSorted((a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)),
      [
        { path: '/c.txt', name: 'c.txt', kind: 'file', size: 26, mimeType: 'text/plain' },
        { path: '/deep', name: 'deep', kind: 'directory', size: null, mimeType: null },
      ],
    )
    t.same(Object.keys(top.body.entries[0]).toSorted(), ['kind', 'mimeType', 'modifiedAt', 'name', 'path', 'size'])
    const page = await list(app, link, '/', { query: { first: '1' } })
    t.equal(page.body.entries.length, 1)
    const rest = await list(app, link, '/', { query: { first: '5', after: page.body.next } })
    t.equal(rest.body.entries.length, 1)
    t.not(rest.body.entries[0].name, page.body.entries[0].name)
    t.same((await list(app, link, '/deep')).body.entries[0].path, '/deep/d.txt')
    const file = await read(app, link, '/deep/d.txt')
    t.same([file.status, file.text], [200, 'content of /team/sub/deep/d.txt'])
    t.equal(file.headers.get('content-disposition'), 'attachment; filename=d.txt')
    t.equal(file.headers.get('content-security-policy'), 'sandbox')
    const html = await app.request(`/s/${link}`)
    for (const { headers } of [file, html]) {
      t.equal(headers.get('x-robots-tag'), 'noindex, nofollow')
      t.equal(headers.get('referrer-policy'), 'no-referrer')
    }
    const shown = await read(app, link, '/c.txt', { query: { disposition: 'inline' } })
    t.match(shown.headers.get('content-disposition'), /^inline/)
    const part = await read(app, link, '/c.txt', { headers: { range: 'bytes=0-6' } })
    t.same([part.status, part.text], [206, 'content'])
    const head = await read(app, link, '/c.txt', { method: 'HEAD' })
    t.same([head.status, head.text, head.headers.get('content-length')], [200, '', '26'])
    t.equal((await list(app, link, '/missing')).reason, 'NOT_FOUND')
    t.equal((await list(app, link, '/c.txt')).reason, 'NOT_A_FOLDER')
    t.equal((await list(app, link, '/', { query: { first: '0' } })).reason, 'INVALID_INPUT')
    t.equal((await list(app, link, '/', { query: { first: 'x' } })).reason, 'INVALID_INPUT')
    t.equal((await list(app, link, '/', { query: { after: 'x' } })).reason, 'INVALID_CURSOR')
    for (const { text } of [facts, top, page]) t.notMatch(text, /team|secret|provider|owner@/)
  })

  t.test('a folder is downloaded as a ZIP archive', async t => {
    const { link } = await share({ path: '/team/sub' })
    const response = await app.request(sharePath(link, 'content', { path: '/' }))
    t.equal(response.headers.get('content-type'), 'application/zip')
    t.equal(response.headers.get('content-disposition'), 'attachment; filename=sub.zip')
    const folder = await mkdtemp(join(tmpdir(), 'stowage-share-'))
    t.teardown(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'a.zip'), Buffer.from(await response.arrayBuffer()))
    const names = (await readWithPython(join(folder, 'a.zip'))).map(({ name }) => name)
    t.same(names.toSorted(), ['sub/', 'sub/c.txt', 'sub/deep/', 'sub/deep/d.txt'])
  })

  t.test('a file and a selection are shown by their names', async t => {
    const file = await share({ path: '/team/a.txt' })
    t.match((await ask(app, file.link)).body, { name: 'a.txt', isFolder: false })
    t.match((await list(app, file.link)).body.entries, [{ path: '/a.txt', name: 'a.txt', kind: 'file' }])
    t.equal((await read(app, file.link, '/a.txt')).text, 'content of /team/a.txt')
    for (const path of ['/', '/b.txt', '/a.txt/x', '/team/a.txt']) {
      t.match((await read(app, file.link, path)).reason, /NOT_FOUND|NOT_A_F/, path)
    }
    const some = await share({ path: '/team/b.txt', morePaths: ['/team/sub'] })
    t.match((await ask(app, some.link)).body, { name: null, isFolder: false })
    const { entries } = (await list(app, some.link)).body
    t.same(
      entries.map(({ path }: { path: string }) => path),
      ['/b.txt', '/sub'],
    )
    t.same((await list(app, some.link, '/sub')).body.entries.length, 2)
    t.equal((await read(app, some.link, '/sub/c.txt')).status, 200)
    t.equal((await read(app, some.link, '/sub')).headers.get('content-type'), 'application/zip')
    t.equal((await read(app, some.link, '/')).reason, 'NOT_A_FILE')
    t.equal((await list(app, some.link, '/a.txt')).reason, 'NOT_FOUND')
    await app.upload(token, providerId, '/team/gone.txt', 'x')
    const partial = await share({ path: '/team/gone.txt', morePaths: ['/team/b.txt'] })
    await app.ask(
      'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }',
      {
        input: { providerId, path: '/team/gone.txt' },
      },
      token,
    )
    t.match((await list(app, partial.link)).body.entries, [{ path: '/b.txt' }], 'a deleted entry is left out')
    const whole = await share({ path: '/' })
    t.match((await ask(app, whole.link)).body, { name: 'Disk', isFolder: true })
  })

  t.test('a drop link stores new files, and neither reads nor replaces any', async t => {
    const { link } = await share({ path: '/team/sub', kind: 'DROP' })
    t.match((await ask(app, link)).body, { kind: 'DROP', name: 'sub', isFolder: true })
    t.same((await drop(app, link, '/new.txt', 'first')).body, { path: '/new.txt', name: 'new.txt', size: 5 })
    t.same((await drop(app, link, '/folder/of/mine.txt', 'x')).body.path, '/folder/of/mine.txt')
    t.equal(await onDisk('team/sub/new.txt'), 'first')
    t.equal(await onDisk('team/sub/folder/of/mine.txt'), 'x')
    for (const path of ['/', '/c.txt', '/deep']) {
      t.match((await list(app, link, path)).reason, /SCOPE_REQUIRED/, path)
      t.match((await read(app, link, path)).reason, /SCOPE_REQUIRED/, path)
      t.equal((await read(app, link, path, { method: 'HEAD' })).status, 403, path)
    }
    const form = new FormData()
    form.set('file', new Blob(['x']), 'x.txt')
    const answer = await ask(app, link, 'files', { method: 'POST', body: form, query: { path: '/x.txt' } })
    t.equal(answer.reason, 'UNSUPPORTED_MEDIA_TYPE')
    t.equal((await ask(app, link, 'files', { method: 'POST', body: 'x' })).reason, 'INVALID_INPUT')
    const view = await share({ path: '/team/sub' })
    t.equal((await drop(app, view.link, '/y.txt', 'x')).reason, 'SCOPE_REQUIRED')
    t.equal((await tusUpload(app, view.link, '/y.txt', 'x')).error?.includes('403'), true)
  })

  t.test('a drop link does not reveal which names are taken', async t => {
    const { link } = await share({ path: '/team/sub', kind: 'DROP' })
    const stored: [path: string, storedAs: string][] = [
      ['/free.txt', 'free.txt'],
      ['/c.txt', 'c (1).txt'],
      ['/deep', 'deep (1)'],
      ['/c.txt/x.txt', 'c.txt (1)/x.txt'],
      ['/c.txt/y/z.txt', 'c.txt (1)/y/z.txt'],
      ['/deep/d.txt', 'deep/d (1).txt'],
    ]
    for (const [path, storedAs] of stored) {
      for (const conflict of ['fail', 'replace']) {
        t.equal((await drop(app, link, path, 'x', { conflict })).reason, 'INVALID_INPUT', 'there is no choice')
      }
      const { status, body } = await drop(app, link, path, '')
      t.same([status, body], [201, { path, name: path.slice(path.lastIndexOf('/') + 1), size: 0 }], path)
      t.equal(await onDisk(`team/sub/${storedAs}`), '', storedAs)
      t.same(await tusUpload(app, link, path, 'resumable', {}, 'fail'), { path }, path)
    }
    t.equal(await onDisk('team/sub/c.txt'), 'content of /team/sub/c.txt')
    t.equal(await onDisk('team/sub/deep/d.txt'), 'content of /team/sub/deep/d.txt')
    t.equal(await onDisk('team/sub/c (2).txt'), 'resumable')
    const content = 'x'.repeat(2_000_000)
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        n % 2 ? drop(app, link, '/race.txt', content) : drop(app, link, '/race.txt', 'x'),
      ),
    )
    for (const { status, text } of answers) {
      t.match(status, /^(201|503)$/)
      t.notMatch(text, /exists|race \(|under way/)
    }
  })

  t.test('a drop link accepts resumable uploads', async t => {
    const { link } = await share({ path: '/team', kind: 'DROP' })
    const sent = await tusUpload(app, link, '/big.bin', 'x'.repeat(300_000), { chunkSize: 100_000 })
    t.equal(sent.error, undefined)
    t.equal(sent.path, '/big.bin')
    t.equal(await onDisk('team/big.bin'), 'x'.repeat(300_000))
    t.equal((await tusUpload(app, link, '/big.bin', 'other', {}, 'replace')).path, '/big.bin')
    t.equal(await onDisk('team/big (1).bin'), 'other')
    const other = await share({ path: '/team', kind: 'DROP' })
    const headers = { 'tus-resumable': '1.0.0', 'upload-length': '5' }
    const metadata = `path ${Buffer.from('/half.bin').toString('base64')}`
    const begun = await ask(app, link, 'uploads', {
      method: 'POST',
      headers: { ...headers, 'upload-metadata': metadata },
    })
    t.equal(begun.status, 201)
    const location = begun.headers.get('location') ?? ''
    t.match(location, new RegExp(`^/api/share/${link}/uploads/[\\w-]{32}$`))
    const state = (path: string, method = 'HEAD') => app.request(path, { method, headers })
    t.equal((await state(location)).status, 200)
    t.equal((await state(location.replace(link, other.link))).status, 404, 'an upload belongs to its link')
    const id = location.slice(location.lastIndexOf('/') + 1)
    const own = await app.request(`/api/upload/resumable/${id}`, { method: 'HEAD', headers, token })
    t.equal(own.status, 404, 'and to nobody else')
    t.equal((await state(location, 'DELETE')).status, 204)
    t.equal((await state(location)).status, 404)
  })

  t.test('a drop link has a limit of bytes and accepts some types of files', async t => {
    const { link } = await share({ path: '/team', kind: 'DROP', maxBytes: 10, fileTypes: ['txt'] })
    t.equal((await drop(app, link, '/x.exe', 'x')).reason, 'FILE_TYPE_NOT_ALLOWED')
    t.equal((await drop(app, link, '/txt', 'x')).reason, 'FILE_TYPE_NOT_ALLOWED')
    t.match((await tusUpload(app, link, '/x.txt.exe', 'x')).error, /415/)
    t.equal((await drop(app, link, '/1.TXT', '12345')).status, 201)
    t.equal((await ask(app, link)).body.bytesLeft, 5)
    t.equal((await drop(app, link, '/2.txt', '123456')).reason, 'TOO_LARGE')
    const digest = { 'content-digest': `sha-256=:${'A'.repeat(43)}=:` }
    const damaged = { method: 'POST', body: '12345', headers: digest, query: { path: '/damaged.txt' } }
    t.equal((await ask(app, link, 'files', damaged)).reason, 'DIGEST_MISMATCH')
    t.equal((await ask(app, link)).body.bytesLeft, 5, 'a file that was not stored takes no space')
    t.match((await tusUpload(app, link, '/3.txt', '123456')).error, /413/)
    const body = new Blob(['12345']).stream()
    const unsized = await ask(app, link, 'files', { method: 'POST', body, duplex: 'half', query: { path: '/4.txt' } })
    t.equal(unsized.reason, 'INVALID_INPUT', 'without a size it cannot be reserved')
    t.equal((await tusUpload(app, link, '/3.txt', '12345')).path, '/3.txt')
    t.equal((await ask(app, link)).body.bytesLeft, 0)
    t.equal((await drop(app, link, '/5.txt', 'x')).reason, 'TOO_LARGE')
    const many = await share({ path: '/team', kind: 'DROP', maxBytes: 30 })
    const sent = Array.from({ length: 12 }, (_, n) => drop(app, many.link, `/many-${n}.txt`, '12345'))
    const stored = (await Promise.all(sent)).filter(({ status }) => status === 201)
    t.equal(stored.length, 6, 'as many as fit, however many are sent at once')
  })

  t.test('an unfinished resumable upload gives its bytes back with its deletion', async t => {
    const { link } = await share({ path: '/team', kind: 'DROP', maxBytes: 10 })
    const bytesLeft = async () => (await ask(app, link)).body.bytesLeft
    const headers = { 'tus-resumable': '1.0.0', 'upload-length': '6' }
    const begin = async (path: string) => {
      const metadata = `path ${Buffer.from(path).toString('base64')}`
      const begun = await ask(app, link, 'uploads', {
        method: 'POST',
        headers: { ...headers, 'upload-metadata': metadata },
      })
      t.same([begun.status, await bytesLeft()], [201, 4])
      return begun.headers.get('location') ?? ''
    }
    const removed = await app.request(await begin('/removed.txt'), { method: 'DELETE', headers })
    t.same([removed.status, await bytesLeft()], [204, 10])

    const left = await begin('/left.txt')
    const id = left.slice(left.lastIndexOf('/') + 1)
    await sql`update uploads set expires_at = now() - interval '1 minute', lease_id = null, lease_until = null
      where id = ${id}`.execute(app.db)
    await sql`create function refuse() returns trigger language plpgsql
      as 'begin raise exception ''no''; end'`.execute(app.db)
    await sql`create trigger refuse before update on shares for each row
      when (new.received_bytes < old.received_bytes) execute function refuse()`.execute(app.db)
    const sweep = () => app.app.services.uploads.sweep(new AbortController().signal)
    await t.rejects(sweep())
    t.equal(await bytesLeft(), 4)
    await sql`drop trigger refuse on shares`.execute(app.db)
    await sweep()
    t.equal(await bytesLeft(), 10, 'the next sweep returns what a failed one has not returned')
    await sweep()
    t.equal(await bytesLeft(), 10)
  })

  await atNight(t, 'the bytes that a killed server had claimed are returned', async t => {
    const { id, link } = await share({ path: '/team', kind: 'DROP', maxBytes: 10 })
    const claims = () => app.db.selectFrom('share_claims').selectAll().where('share_id', '=', id).execute()
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.write(
      `POST ${sharePath(link, 'files', { path: '/late.txt' })} HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n1234`,
    )
    await until(async () => (await claims()).length === 1)
    t.equal((await drop(app, link, '/other.txt', '12345')).reason, 'TOO_LARGE')
    // A killed server no longer renews its claim.
    await sql`update share_claims set lapses_at = now() - interval '1 second' where share_id = ${id}`.execute(app.db)
    t.equal((await drop(app, link, '/other.txt', '12345')).status, 201)
    t.same(await claims(), [])
    socket.write('5678')
    const [answer] = await once(socket, 'data')
    t.match(String(answer), /^HTTP\/1.1 201/)
    t.equal((await ask(app, link)).body.bytesLeft, 0, 'a file that was stored after all counts')
    t.equal((await drop(app, link, '/more.txt', '1')).reason, 'TOO_LARGE')
    await sql`with claimed as (update shares set received_bytes = received_bytes + 4 where id = ${id} returning id)
      insert into share_claims (id, share_id, bytes, lapses_at)
      select gen_random_uuid(), id, 4, now() - interval '1 second' from claimed`.execute(app.db)
    const stop = startBackgroundWork(app.app.services, false, pino({ enabled: false }))
    await until(async () => (await claims()).length === 0)
    await stop()
    const { rows } = await sql`select received_bytes from shares where id = ${id}`.execute(app.db)
    t.same(rows, [{ received_bytes: String(5 + 8) }], 'also if no file needs the space')
  })

  t.test('a share with a limit of downloads sends whole files', async t => {
    const { link } = await share({ path: '/team', maxDownloads: 3 })
    const part = await read(app, link, '/a.txt', { headers: { range: 'bytes=0-0', 'if-none-match': '*' } })
    t.same([part.status, part.text], [200, 'content of /team/a.txt'])
    t.equal(part.headers.get('accept-ranges'), 'none')
    t.equal((await read(app, link, '/a.txt', { method: 'HEAD' })).status, 200)
    t.equal((await read(app, link, '/missing')).reason, 'NOT_FOUND')
    t.equal((await ask(app, link)).body.downloadsLeft, 2, 'only content counts')
    t.equal((await read(app, link, '/sub')).headers.get('content-type'), 'application/zip')
    t.equal((await read(app, link, '/b.txt')).status, 200)
    t.equal((await read(app, link, '/b.txt')).reason, 'DOWNLOADS_USED_UP')
    t.equal((await read(app, link, '/sub')).reason, 'DOWNLOADS_USED_UP')
    t.equal((await list(app, link)).status, 200)
  })

  t.test('a selection is one archive, which counts as one download', async t => {
    const many = await share({ path: '/team/a.txt', morePaths: ['/team/sub', '/secret/s.txt'], maxDownloads: 2 })
    const select = (link: string, paths: unknown) =>
      ask(app, link, 'archive', { method: 'POST', body: JSON.stringify({ paths }) })
    for (const paths of [[], ['/'], 'a', [1], ['/a.txt', '/'], Array.from({ length: 1001 }, () => '/a.txt')]) {
      t.equal((await select(many.link, paths)).reason, 'INVALID_INPUT', JSON.stringify(paths).slice(0, 20))
    }
    t.equal((await select(many.link, ['/team'])).reason, 'NOT_FOUND')
    t.equal((await select(many.link, ['/sub/missing'])).reason, 'NOT_FOUND', 'which does not count')
    const sent = await app.request(sharePath(many.link, 'archive'), {
      method: 'POST',
      body: new URLSearchParams({ selection: JSON.stringify({ paths: ['/a.txt', '/sub/c.txt', '/s.txt'] }) }),
    })
    t.match(sent.headers.get('content-disposition'), 'filename=shared.zip', 'not the name of the folder above')
    const folder = await mkdtemp(join(tmpdir(), 'stowage-share-'))
    t.teardown(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'selected.zip'), Buffer.from(await sent.arrayBuffer()))
    const members = await readWithPython(join(folder, 'selected.zip'))
    t.same(
      members.map(({ name }) => name),
      ['a.txt', 'c.txt', 's.txt'],
    )
    t.equal((await ask(app, many.link)).body.downloadsLeft, 1)
    t.equal((await select(many.link, ['/sub/c.txt'])).status, 200)
    t.equal((await select(many.link, ['/sub/c.txt'])).reason, 'DOWNLOADS_USED_UP')
    const team = await share({ path: '/team' })
    const whole = await select(team.link, ['/sub', '/b.txt'])
    t.match(whole.headers.get('content-disposition'), 'filename=team.zip')
    t.equal((await select(team.link, ['/../secret/s.txt'])).reason, 'INVALID_PATH')
    const dropped = await share({ path: '/team', kind: 'DROP' })
    t.equal((await select(dropped.link, ['/a.txt'])).reason, 'SCOPE_REQUIRED')
    const locked = await share({ path: '/team', password: 'correct horse' })
    t.equal((await select(locked.link, ['/a.txt'])).reason, 'SHARE_PASSWORD_REQUIRED')
  })

  t.test('a password is sent in a header, or once for a cookie', async t => {
    const password = 'p\u00e4ssword \u2713'
    const { id, link } = await share({ path: '/team', password })
    for (const endpoint of ['', 'entries', 'content']) {
      t.equal((await ask(app, link, endpoint)).reason, 'SHARE_PASSWORD_REQUIRED', endpoint)
      t.equal((await ask(app, link, endpoint, { password: 'wrong one' })).reason, 'WRONG_SHARE_PASSWORD', endpoint)
      t.equal((await ask(app, link, endpoint, { password })).status, 200, endpoint)
    }
    t.equal((await ask(app, link, '', { headers: { 'stowage-share-password': 'p\u00e4ssword' } })).status, 401)
    const locked = await ask(app, link, 'unlock', { method: 'POST', password: 'wrong one' })
    t.same([locked.reason, locked.headers.get('set-cookie')], ['WRONG_SHARE_PASSWORD', null])
    const unlocked = await ask(app, link, 'unlock', { method: 'POST', password })
    t.equal(unlocked.status, 204)
    const given = unlocked.headers.get('set-cookie') ?? ''
    t.match(given, new RegExp(`; Path=/api/share/${link}; .*HttpOnly; SameSite=Strict`))
    const [cookie = ''] = given.split(';', 1)
    t.equal((await read(app, link, '/a.txt', { headers: { cookie } })).status, 200)
    const other = await share({ path: '/team', password })
    t.equal((await read(app, other.link, '/a.txt', { headers: { cookie } })).reason, 'SHARE_PASSWORD_REQUIRED')
    t.equal((await read(app, link, '/a.txt', { headers: { cookie: `${cookie}x` } })).status, 401)
    const change = 'mutation ($input: UpdateShareInput!) { updateShare(input: $input) { id } }'
    await app.ask(change, { input: { id, password: 'another one' } }, token)
    t.equal((await read(app, link, '/a.txt', { headers: { cookie } })).reason, 'SHARE_PASSWORD_REQUIRED')
    t.equal((await ask(app, link, '', { password })).reason, 'WRONG_SHARE_PASSWORD')
    t.equal((await ask(app, link, '', { password: 'another one' })).status, 200)
  })

  t.test('an unknown, malformed or expired link opens nothing', async t => {
    const { id, link } = await share({ path: '/team', expiresAt: new Date(Date.now() + 3_600_000).toISOString() })
    t.equal((await ask(app, link)).status, 200)
    for (const unknown of [`stw_share_${'0'.repeat(40)}`, `${link}0`, link.slice(0, -1), 'x', link.toUpperCase()]) {
      t.equal((await ask(app, unknown)).reason, 'INVALID_CREDENTIAL', unknown)
    }
    await sql`update shares set expires_at = now() where id = ${id}`.execute(app.db)
    // A change by SQL takes effect within a lease of the rights in memory.
    await until(async () => (await ask(app, link)).reason === 'SHARE_ENDED')
    t.notMatch(app.logged(), /stw_share_[0-9a-f]{8}/, 'no link is in the log')
  })
})

interface Sent {
  path?: string | undefined
  error?: string | undefined
}

function tusUpload(
  app: TestApp,
  link: string,
  path: string,
  content: string,
  options: { chunkSize?: number } = {},
  conflict?: string,
): Promise<Sent> {
  return new Promise(resolve => {
    new Upload(Buffer.from(content), {
      endpoint: app.url + sharePath(link, 'uploads'),
      metadata: { path, filetype: 'text/plain', ...(conflict !== undefined && { conflict }) },
      retryDelays: [],
      onError: error => resolve({ error: error.message }),
      onSuccess: ({ lastResponse }) =>
        resolve({ path: decodeURIComponent(lastResponse.getHeader('upload-stored-path') ?? '') }),
      ...options,
    }).start()
  })
}
