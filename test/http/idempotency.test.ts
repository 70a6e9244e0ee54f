import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { connect } from '../../src/db/client.ts'
import { deleteOldUploads } from '../../src/db/idempotent-uploads.ts'
import { testDatabase } from '../servers/postgres.ts'
import { atNight } from '../support/extent.ts'
import { type HttpServer, serve, testOrigin } from './server.ts'
import { eventually } from './socket.ts'

async function start(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'stowage-once-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const database = await testDatabase(t)
  const server = await serve(database, folder)
  t.teardown(server.close)
  const db = connect(database, { max: 1 })
  t.teardown(() => db.destroy())
  const count = async () => (await db.selectFrom('idempotent_uploads').selectAll().execute()).length
  return { server, db, count }
}

interface Sent {
  key?: string
  path?: string
  body?: BodyInit
  headers?: Record<string, string>
  more?: Record<string, string>
}

async function send(server: HttpServer, { key, path = '/file.txt', body = 'one', headers = {}, more = {} }: Sent) {
  const response = await fetch(server.uploadUrl(path, { conflict: 'rename', ...more }), {
    method: 'POST',
    body,
    headers: { ...server.authorization, ...headers, ...(key !== undefined && { 'idempotency-key': key }) },
    duplex: 'half',
  } as RequestInit)
  const answer = (await response.json()) as { path?: string; errors?: { extensions: { reason: string } }[] }
  return {
    status: response.status,
    reason: answer.errors?.[0]?.extensions.reason,
    answer,
    replayed: response.headers.get('idempotency-replayed'),
    location: response.headers.get('location'),
    etag: response.headers.get('etag'),
  }
}

t.test('a repeated upload stores nothing and returns the same response', async t => {
  const { server, count } = await start(t)
  await send(server, {})
  t.equal(await count(), 0, 'requests without the header write nothing')
  const key = `"${randomUUID()}"`
  const first = await send(server, { key })
  t.match(first, { status: 201, replayed: null, answer: { path: '/file (1).txt' } })
  for (const again of [key, key.slice(1, -1)]) {
    t.same(await send(server, { key: again }), { ...first, replayed: 'true' })
  }
  const large = Buffer.alloc(5_000_000)
  const other = await send(server, { key: 'large', body: large })
  t.same(await send(server, { key: 'large', body: large }), { ...other, replayed: 'true' })
  t.same((await readdir(server.folder)).filter(name => name.startsWith('file')).toSorted(), [
    'file (1).txt',
    'file (2).txt',
    'file.txt',
  ])
  const changes: Sent[] = [
    { path: '/other.txt' },
    { body: 'other' },
    { headers: { 'content-type': 'text/css' } },
    { headers: { 'content-md5': '4QrcOUm6Wau+VuBX8g+IPg==' } },
    { more: { conflict: 'replace' } },
  ]
  for (const change of changes) {
    t.match(await send(server, { ...change, key }), { status: 422, reason: 'IDEMPOTENCY_KEY_REUSED' })
  }
  const viewer = await server.services.credentials.authenticate(server.token, testOrigin)
  const made = await server.services.apiKeys.create(viewer, { name: 'other', scopes: ['write'] })
  const headers = { authorization: `Bearer ${made.key}` }
  t.match(await send(server, { key, headers }), { status: 201, replayed: null }, 'the key of another credential')
  for (const bad of ['""', '"a', 'a b', 'x'.repeat(256), '"\\"', 'a, b']) {
    t.match(await send(server, { key: bad }), { status: 400, reason: 'INVALID_INPUT' }, bad)
  }
  const form = new FormData()
  form.append('file', new Blob(['x']), 'x')
  t.equal((await send(server, { key, path: '/', body: form })).status, 400)
})

atNight(t, 'a failed upload can be retried with the same key', async t => {
  const { server, count } = await start(t)
  const key = 'again'
  const wrong = { 'content-md5': `${'A'.repeat(22)}==` }
  t.equal((await send(server, { key, headers: wrong })).status, 422)
  t.equal(await count(), 0)
  t.match(await send(server, { key }), { status: 201, replayed: null })
})

t.test('one of several concurrent uploads with one key is stored, and the others must wait', async t => {
  const { server, count } = await start(t)
  let go: () => void = () => {}
  const slow = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from('slow'))
      go = () => controller.close()
    },
  })
  const first = send(server, { key: 'slow', body: slow })
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(Buffer.from('slow'))
      await new Promise(resolve => setTimeout(resolve, 20))
      controller.close()
    },
  })
  await eventually(async () => {
    if ((await count()) === 0) throw new Error('the first upload has not started')
  })
  t.match(await send(server, { key: 'slow', body }), { status: 409, reason: 'REQUEST_UNDER_WAY' })
  go()
  t.match(await first, { status: 201, replayed: null })
  const all = await Promise.all(Array.from({ length: 10 }, () => send(server, { key: 'many', path: '/many.txt' })))
  t.ok(all.every(({ status }) => status === 201 || status === 409))
  t.equal(all.filter(({ status, replayed }) => status === 201 && !replayed).length, 1)
  t.same(
    (await readdir(server.folder)).filter(name => name.startsWith('many')),
    ['many.txt'],
  )
  t.equal(await readFile(join(server.folder, 'many.txt'), 'utf8'), 'one')
})

atNight(t, 'keys of killed servers and expired keys can be used again', async t => {
  const { server, db, count } = await start(t)
  const first = await send(server, { key: 'dead' })
  await sql`update idempotent_uploads set answer = null`.execute(db)
  t.match(await send(server, { key: 'dead' }), { status: 409, reason: 'REQUEST_UNDER_WAY' })
  await sql`update idempotent_uploads set held_until = now() - interval '1 second'`.execute(db)
  t.match(await send(server, { key: 'dead', body: 'other' }), { status: 422 })
  const taken = await send(server, { key: 'dead' })
  t.match(taken, { status: 201, replayed: null })
  t.not(taken.location, first.location)
  await sql`update idempotent_uploads set created_at = now() - interval '25 hours'`.execute(db)
  t.match(await send(server, { key: 'dead', body: 'other' }), { status: 201, replayed: null }, 'a day is over')
  await sql`update idempotent_uploads set created_at = now() - interval '25 hours', held_until = now() - interval '1 second'`.execute(
    db,
  )
  await deleteOldUploads(db)
  t.equal(await count(), 0)
})
