import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { type ClientRequest, request } from 'node:http'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { BudgetShare } from '../../src/lib/byte-budget.ts'
import { createLeases } from '../../src/services/uploads/lease.ts'
import { BlockBudget, checksumBudget } from '../../src/services/uploads/limits.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { metadataHeader, reasonOf, type TusTarget, tus, tusPath } from './tus.ts'

const mib = 1024 * 1024

async function owner(app: TestApp, type: 'local' | 'memory' = 'local'): Promise<TusTarget> {
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, type, type === 'local' ? { root: app.folder } : {})
  return { url: app.url, token, metadata: { providerId } }
}

async function begin(target: TusTarget, path: string, size: number): Promise<string> {
  const metadata = metadataHeader({ ...target.metadata, path })
  const answer = await tus(target, 'POST', tusPath, { 'upload-length': `${size}`, 'upload-metadata': metadata })
  return answer.headers.get('location') ?? ''
}

const unfinished = (app: TestApp) => readdir(join(app.folder, '.stowage-staging')).catch(() => [])

t.test('the bytes that the database stores for a member are bounded during an upload', async t => {
  const app = await startApp(t)
  const target = await owner(app, 'memory')
  const [full, more] = [await begin(target, '/full', 1024 * mib), await begin(target, '/more', 4 * mib)]
  // Pretend that this upload has stored 4 GiB minus 2 MiB.
  const received = 4096 * mib - 2 * mib
  await app.db.updateTable('uploads').set({ size: received, received }).where('path', '=', 'full').execute()
  const body = randomBytes(3 * mib)
  const refused = await tus(target, 'PATCH', more, { 'upload-offset': '0' }, body)
  t.equal(refused.status, 429)
  t.equal(await reasonOf(refused), 'TOO_MANY_UPLOADS')
  t.equal(
    (await tus(target, 'HEAD', more)).headers.get('upload-offset'),
    `${2 * mib}`,
    'the bytes within the limit are kept',
  )
  t.equal((await tus(target, 'DELETE', full)).status, 204)
  const rest = await tus(target, 'PATCH', more, { 'upload-offset': `${2 * mib}` }, body.subarray(0, 2 * mib))
  t.equal(rest.headers.get('upload-stored-path'), '/more')
})

atNight(t, '100 of 600 uploads that start at once on two replicas are accepted', async t => {
  const app = await startApp(t)
  const replica = await app.replica()
  const target = await owner(app, 'memory')
  const answers = await Promise.all(
    Array.from({ length: 600 }, async (_, n) => {
      const metadata = metadataHeader({ ...target.metadata, path: `/${n}` })
      const headers = { 'upload-length': '5', 'upload-metadata': metadata }
      const response = await tus({ ...target, url: n % 2 ? app.url : replica.url }, 'POST', tusPath, headers)
      return response.status === 201 ? 'accepted' : await reasonOf(response)
    }),
  )
  const count = (answer: string) => answers.filter(each => each === answer).length
  t.same([count('accepted'), count('TOO_MANY_UPLOADS')], [100, 500])
  t.equal((await app.db.selectFrom('uploads').select('id').execute()).length, 100)
})

atNight(t, "concurrent uploads together stay within the member's byte limit", async t => {
  const app = await startApp(t)
  const target = await owner(app, 'memory')
  const full = await begin(target, '/full', 1024 * mib)
  const urls = await Promise.all(Array.from({ length: 8 }, (_, n) => begin(target, `/${n}`, 4 * mib)))
  // This leaves room for two pieces of 1 MiB, while eight uploads send one each.
  const received = 4096 * mib - 2 * mib
  await app.db.updateTable('uploads').set({ size: received, received }).where('path', '=', 'full').execute()
  const piece = randomBytes(mib)
  const answers = await Promise.all(urls.map(url => tus(target, 'PATCH', url, { 'upload-offset': '0' }, piece)))
  t.same(answers.map(({ status }) => status).toSorted(), [204, 204, 429, 429, 429, 429, 429, 429])
  t.equal((await tus(target, 'DELETE', full)).status, 204)
})

t.test('a file that a back end started is removed if its state cannot be saved', async t => {
  const app = await startApp(t)
  const target = await owner(app)
  const url = await begin(target, '/file', 4 * mib)
  await sql`create function refuse() returns trigger language plpgsql as 'begin raise exception ''no''; end'`.execute(
    app.db,
  )
  await sql`create trigger refuse before update of state on uploads for each row
    when (new.state is distinct from old.state) execute function refuse()`.execute(app.db)
  t.equal((await tus(target, 'PATCH', url, { 'upload-offset': '0' }, randomBytes(2 * mib))).status, 500)
  t.same(await unfinished(app), [])
})

t.test('disconnecting a provider removes its running uploads', async t => {
  const app = await startApp(t)
  const replica = await app.replica()
  const target = await owner(app)
  const stalled: ClientRequest[] = []
  for (const [name, { url }] of Object.entries({ here: app, there: replica })) {
    const path = await begin(target, `/${name}`, 8 * mib)
    const headers = {
      authorization: `Bearer ${target.token}`,
      'tus-resumable': '1.0.0',
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
      'content-length': 8 * mib,
    }
    const sending = request(new URL(path, url), { method: 'PATCH', headers })
    sending.on('error', () => {})
    sending.write(randomBytes(2 * mib))
    stalled.push(sending)
  }
  await until(async () => (await unfinished(app)).length >= 2)
  const viewer = await app.app.services.credentials.authenticate(target.token, { address: '', requestId: '' })
  await app.app.services.providers.disconnect(viewer, target.metadata.providerId ?? '')
  t.same(await unfinished(app), [])
  t.same(await app.db.selectFrom('uploads').select('id').execute(), [])
  for (const sending of stalled) sending.destroy()
})

atNight(t, 'disconnecting a provider also removes an upload whose lease is released at that moment', async t => {
  const app = await startApp(t)
  const target = await owner(app)
  const url = await begin(target, '/file', 4 * mib)
  await tus(target, 'PATCH', url, { 'upload-offset': '0' }, randomBytes(2 * mib))
  t.equal((await unfinished(app)).length, 1)
  const lease = randomUUID()
  const until = sql<Date>`now() + interval '1 minute'`
  await app.db.updateTable('uploads').set({ lease_id: lease, lease_until: until }).execute()
  await sql`create function release_lease() returns trigger language plpgsql as ${sql.lit(`begin
    if pg_trigger_depth() = 1 then
      update uploads set lease_id = null, lease_until = null where lease_id = '${lease}';
    end if;
    return null;
  end`)}`.execute(app.db)
  await sql`create trigger release_lease after update on uploads for each statement execute function release_lease()`.execute(
    app.db,
  )
  const viewer = await app.app.services.credentials.authenticate(target.token, { address: '', requestId: '' })
  await app.app.services.providers.disconnect(viewer, target.metadata.providerId ?? '')
  t.same(await unfinished(app), [])
})

atNight(t, 'a lease counts as lost if the database does not respond', async t => {
  const app = await startApp(t)
  const target = await owner(app)
  const id = (await begin(target, '/file', 1)).split('/').at(-1) ?? ''
  const { signal } = new AbortController()
  const lease = await createLeases(app.db).take(id, async () => {}, signal)
  const other = await app.replica()
  await other.db.transaction().execute(async trx => {
    await trx.selectFrom('uploads').select('id').where('id', '=', id).forUpdate().execute()
    await new Promise(resolve => lease.lost.addEventListener('abort', resolve, { once: true }))
  })
  t.ok(lease.lost.aborted)
  await lease[Symbol.asyncDispose]()
})

atNight(
  t,
  'concurrent uploads share the memory for blocks, and blocks start in the database when it is full',
  async t => {
    const app = await startApp(t)
    const target = await owner(app)
    const bytes = randomBytes(3 * mib + 5)
    const url = await begin(target, '/file', bytes.length)
    const others = Array.from({ length: 4000 }, () => new BlockBudget())
    const headers = {
      authorization: `Bearer ${target.token}`,
      'tus-resumable': '1.0.0',
      'upload-offset': '0',
      'content-type': 'application/offset+octet-stream',
      'content-length': bytes.length,
    }
    const sending = request(new URL(url, app.url), { method: 'PATCH', headers })
    const answered = once(sending, 'response')
    const split = 1.5 * mib
    sending.write(bytes.subarray(0, split))
    const chunks = () => app.db.selectFrom('upload_chunks').select('position').execute()
    await until(async () => (await chunks()).length > 0)
    sending.end(bytes.subarray(split))
    const [response] = await answered
    t.equal(response.statusCode, 204)
    for (const other of others) other[Symbol.dispose]()
    t.same(await chunks(), [])
    const stored = await app.download(target.token, target.metadata.providerId ?? '', '/file')
    t.ok(Buffer.from(await stored.arrayBuffer()).equals(bytes))
  },
)

t.test('bodies that wait for their checksum share one memory limit', async t => {
  const app = await startApp(t)
  const target = await owner(app)
  const bytes = Buffer.from('hello')
  const url = await begin(target, '/file', bytes.length)
  const digest = createHash('sha256').update(bytes).digest('base64')
  const headers = { 'upload-offset': '0', 'upload-checksum': `sha256 ${digest}` }
  {
    using others = new BudgetShare(checksumBudget)
    t.ok(others.tryTake(128 * mib - 1))
    const refused = await tus(target, 'PATCH', url, headers, bytes)
    t.equal(refused.status, 503)
    t.equal(await reasonOf(refused), 'UNAVAILABLE')
  }
  t.equal((await tus(target, 'PATCH', url, headers, bytes)).status, 204)
})
