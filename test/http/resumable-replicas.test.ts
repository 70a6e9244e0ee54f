import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { testDatabase } from '../servers/postgres.ts'
import { s3Server } from '../servers/radosgw.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { client } from '../support/client.ts'
import { atNight, extent } from '../support/extent.ts'
import { startProgram, temporaryFolder } from '../support/program.ts'
import { until } from '../support/until.ts'
import { digest, metadataHeader, reasonOf, send, type TusTarget, tus, tusPath } from './tus.ts'

const mib = 1024 * 1024

async function begin(target: TusTarget, size: number): Promise<string> {
  const headers = { 'upload-length': String(size), 'upload-metadata': metadataHeader(target.metadata) }
  return (await tus(target, 'POST', tusPath, headers)).headers.get('location') ?? ''
}

const unfinished = (folder: string) => readdir(join(folder, '.stowage-staging')).catch(() => [])

/** Sends `bytes` as the start of a body that never ends. */
function stalledPatch(target: TusTarget, path: string, offset: number, length: number, bytes: Buffer) {
  const headers = {
    authorization: `Bearer ${target.token}`,
    'tus-resumable': '1.0.0',
    'upload-offset': String(offset),
    'content-type': 'application/offset+octet-stream',
    'content-length': String(length),
  }
  const sending = request(new URL(path, target.url), { method: 'PATCH', headers })
  sending.on('error', () => {})
  sending.write(bytes)
  return sending
}

async function owner(app: TestApp): Promise<TusTarget> {
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder })
  return { url: app.url, token, metadata: { providerId, path: '/file' } }
}

atNight(t, 'an upload continues on another server after its server is killed', async t => {
  const { connectionString } = await testDatabase(t)
  const [folder, data] = [await temporaryFolder(t), await temporaryFolder(t)]
  const environment = {
    PORT: '0',
    DATABASE_URL: connectionString,
    STOWAGE_SECRET: 'a secret that only these tests have',
    STOWAGE_DATA: data,
    STOWAGE_LOCAL_ROOTS: folder,
  }
  const [first, second] = [await startProgram(t, { environment }), await startProgram(t, { environment })]
  const api = client(first.url)
  const { token } = await api.register('owner@example.org')
  const providerId = await api.connectProvider(token, 'local', { root: folder })
  const target = { url: first.url, token, metadata: { providerId, path: '/big.bin' } }
  const bytes = randomBytes(8 * mib)
  const path = await begin(target, bytes.length)
  const sending = stalledPatch(target, path, 0, bytes.length, bytes.subarray(0, 5 * mib + 1000))
  const staged = async () => {
    const [name] = await unfinished(folder)
    return name ? (await readFile(join(folder, '.stowage-staging', name))).length : 0
  }
  await until(async () => (await staged()) >= 4 * mib)
  await first.stop('SIGKILL')
  sending.destroy()
  const other = { ...target, url: second.url }
  const offset = Number((await tus(other, 'HEAD', path)).headers.get('upload-offset'))
  t.ok(offset >= 3 * mib && offset <= 5 * mib + 1000, `offset ${offset}`)
  const sent = await send(other, bytes, { uploadUrl: second.url + path })
  t.equal(sent.path, '/big.bin')
  t.equal(digest(await readFile(join(folder, 'big.bin'))), digest(bytes))
  t.same(await unfinished(folder), [])
})

t.test('a reconnected client takes its upload over at once, on the same or another replica', async t => {
  const app = await startApp(t)
  const replica = await app.replica()
  const target = await owner(app)
  const bytes = randomBytes(4 * mib)
  for (const url of extent({ gate: [replica.url], nightly: [app.url, replica.url] })) {
    const mine = { ...target, metadata: { ...target.metadata, path: `/${new URL(url).port}` } }
    const path = await begin(mine, bytes.length)
    const stalled = stalledPatch(mine, path, 0, bytes.length, bytes.subarray(0, mib + 77))
    await until(async () => (await unfinished(app.folder)).length > 0)
    const head = await tus({ ...mine, url }, 'HEAD', path)
    const offset = Number(head.headers.get('upload-offset'))
    t.ok(offset >= mib, `all received bytes are kept: ${offset}`)
    const rest = { 'upload-offset': String(offset) }
    t.equal((await tus({ ...mine, url }, 'PATCH', path, rest, bytes.subarray(offset))).status, 204)
    t.equal(digest(await readFile(join(app.folder, new URL(url).port))), digest(bytes))
    stalled.destroy()
  }
})

t.test('an expired upload, or one without its credential or provider, leaves nothing', async t => {
  const app = await startApp(t)
  const replica = await app.replica()
  const target = await owner(app)
  const half = { 'upload-offset': '0' }
  const beginSome = async (by: TusTarget, path: string) => {
    const url = await begin({ ...by, metadata: { ...by.metadata, path } }, 2 * mib)
    await tus(by, 'PATCH', url, half, randomBytes(mib + 5))
    return url
  }
  const kept = await beginSome(target, '/kept')
  const expired = await beginSome(target, '/expired')
  const { key, id } = await app.createKey(target.token, { name: 'k', scopes: ['write'] })
  await beginSome({ ...target, token: key }, '/revoked')
  const removed = await beginSome(target, '/removed')
  await begin({ ...target, metadata: { ...target.metadata, path: '/created' } }, 2 * mib)
  await send({ ...target, metadata: { ...target.metadata, path: '/complete' } }, randomBytes(10))
  t.equal((await unfinished(app.folder)).length, 4)
  t.equal((await tus(target, 'DELETE', removed)).status, 204)
  await app.db
    .updateTable('uploads')
    .set({ expires_at: new Date(0) })
    .where('path', 'in', ['expired', 'created', 'complete'])
    .execute()
  t.equal((await tus(target, 'HEAD', expired)).status, 404)
  await app.db.updateTable('api_keys').set({ revoked_at: new Date() }).where('id', '=', id).execute()
  await Promise.all([app, replica].map(({ app }) => app.services.uploads.sweep(new AbortController().signal)))
  t.equal((await unfinished(app.folder)).length, 1)
  t.equal((await tus(target, 'HEAD', kept)).status, 200)
  const viewer = await app.app.services.credentials.authenticate(target.token, { address: '', requestId: '' })
  await app.app.services.providers.disconnect(viewer, target.metadata.providerId ?? '')
  t.same(await unfinished(app.folder), [])
  t.same(await app.db.selectFrom('uploads').select('id').execute(), [])

  await Promise.all([app, replica].map(({ app }) => app.services.audit.flush()))
  const events = `{ auditEvents(first: 200, filter: { action: UPLOAD }) {
    nodes { result path bytes userEmail credentialKind credentialId address providerName details }
  } }`
  const { nodes }: { nodes: { path: string }[] } = (await app.ask(events, {}, target.token)).auditEvents
  const cut = { result: 'CUT', bytes: mib + 5, userEmail: 'owner@example.org', details: { size: 2 * mib } }
  t.match(
    nodes.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    [
      { path: '/complete', result: 'OK', bytes: 10 },
      { ...cut, path: '/expired', credentialKind: 'SESSION', address: '' },
      { ...cut, path: '/kept', credentialKind: 'SESSION', address: '' },
      { ...cut, path: '/removed', credentialKind: 'SESSION', address: '127.0.0.1' },
      { ...cut, path: '/revoked', credentialKind: 'API_KEY', credentialId: id, address: '' },
    ],
    'the audit log has an event for each upload that stored bytes but never became a file',
  )
  t.equal(nodes.length, 5)
})

t.test('a member can have at most 100 unfinished uploads', async t => {
  const app = await startApp(t)
  const target = await owner(app)
  const create = (n: number) => {
    const metadata = metadataHeader({ ...target.metadata, path: `/${n}` })
    return tus(target, 'POST', tusPath, { 'upload-length': '5', 'upload-metadata': metadata })
  }
  for (let n = 0; n < 100; n += 1) t.equal((await create(n)).status, 201)
  const refused = await create(100)
  t.equal(refused.status, 429)
  t.equal(await reasonOf(refused), 'TOO_MANY_UPLOADS')
})

atNight(t, 'an upload to S3 keeps bytes that are less than a part, and the sweep removes it', async t => {
  const s3 = await s3Server(t)
  const Bucket = await s3.newBucket()
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const { endpoint, region, accessKeyId, secretAccessKey } = s3
  const config = { bucket: Bucket, endpoint, region, accessKeyId, secretAccessKey, forcePathStyle: true }
  const providerId = await app.connectProvider(token, 's3', config)
  const target = { url: app.url, token, metadata: { providerId, path: '/big.bin' } }
  const pending = async () => (await s3.client.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads?.length ?? 0
  const bytes = randomBytes(20 * mib + 123)
  const sent = await send(target, bytes, { chunkSize: 3 * mib })
  t.equal(sent.path, '/big.bin')
  const stored = await app.download(token, providerId, '/big.bin')
  t.equal(digest(Buffer.from(await stored.arrayBuffer())), digest(bytes))

  const url = await begin({ ...target, metadata: { providerId, path: '/other' } }, bytes.length)
  const part = bytes.subarray(0, 9 * mib)
  const response = await tus(target, 'PATCH', url, { 'upload-offset': '0' }, part)
  t.equal(response.headers.get('upload-offset'), String(part.length), 'bytes that are less than a part are kept')
  t.equal(await pending(), 1)
  const wrong = await tus(target, 'PATCH', url, { 'upload-offset': String(8 * mib) }, Buffer.alloc(1))
  t.equal(await reasonOf(wrong), 'OFFSET_MISMATCH')
  await app.db
    .updateTable('uploads')
    .set({ expires_at: new Date(0) })
    .where('path', '=', 'other')
    .execute()
  await app.app.services.uploads.sweep(new AbortController().signal)
  t.equal(await pending(), 0)
  t.equal((await app.db.selectFrom('upload_chunks').select('upload_id').execute()).length, 0)
})
