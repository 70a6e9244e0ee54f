/** Failures after the back end has stored a file and before the database records it. The client that continues learns of the success. */
import { randomBytes } from 'node:crypto'
import { link, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import type { Database } from '../../src/db/client.ts'
import { metadataHeader, send, type TusTarget, tus, tusPath } from '../http/tus.ts'
import { s3Server } from '../servers/radosgw.ts'
import { startApp } from '../support/app.ts'
import { atNight, extent, isNight } from '../support/extent.ts'
import { sha256 } from './ledger.ts'

const mib = 1024 * 1024

/** Makes the update that records a stored file fail. Resolves with a function that ends the fault. */
async function failToRecord(db: Database): Promise<() => Promise<void>> {
  await sql`create or replace function refuse() returns trigger language plpgsql
    as 'begin raise exception ''no''; end'`.execute(db)
  await sql`create trigger refuse before update on uploads for each row
    when (new.stored_path is distinct from old.stored_path) execute function refuse()`.execute(db)
  return async () => void (await sql`drop trigger refuse on uploads`.execute(db))
}

async function begin(target: TusTarget, size: number): Promise<Response> {
  const headers = { 'upload-length': `${size}`, 'upload-metadata': metadataHeader(target.metadata) }
  return await tus(target, 'POST', tusPath, headers)
}

type Case = ['local' | 'memory' | 's3', 'fail' | 'rename' | 'replace', number, number]

/** Back end, conflict behavior, bytes after the last block, and size of the pieces with which the client continues. */
const cases: readonly Case[] = [
  ['local', 'fail', 0, Number.POSITIVE_INFINITY],
  ['local', 'fail', 1, 300_000],
  ['local', 'rename', 700_001, 300_000],
  ['local', 'replace', 700_001, Number.POSITIVE_INFINITY],
  ['memory', 'fail', 1, Number.POSITIVE_INFINITY],
  ['memory', 'rename', 700_001, 300_000],
  ['memory', 'replace', 0, 300_000],
  ['s3', 'fail', 700_001, 300_000],
  ['s3', 'rename', 0, Number.POSITIVE_INFINITY],
  ['s3', 'replace', 1, 300_000],
]

t.test('an upload whose success could not be recorded can be continued', async t => {
  const s3 = isNight ? await s3Server(t) : null
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const providers: Record<string, string> = {
    local: await app.connectProvider(token, 'local', { root: app.folder }),
    memory: await app.connectProvider(token, 'memory', {}),
  }
  if (s3) {
    const { endpoint, region, accessKeyId, secretAccessKey } = s3
    const config = {
      bucket: await s3.newBucket(),
      endpoint,
      region,
      accessKeyId,
      secretAccessKey,
      forcePathStyle: true,
    }
    providers.s3 = await app.connectProvider(token, 's3', config)
  }
  const chosen = extent({ gate: cases.filter((_, index) => [2, 6].includes(index)), nightly: cases })
  for (const [type, conflict, rest, piece] of chosen) {
    const what = `${type} ${conflict} ${rest} ${piece}`
    const path = `/${what.replaceAll(' ', '-')}`
    const providerId = providers[type] ?? ''
    const target = { url: app.url, token, metadata: { providerId, path, conflict } }
    const bytes = randomBytes((type === 's3' ? 8 : 1) * mib + rest)
    const recover = await failToRecord(app.db)
    const url = (await begin(target, bytes.length)).headers.get('location') ?? ''
    const cut = await tus(target, 'PATCH', url, { 'upload-offset': '0' }, bytes)
    t.equal(cut.status, 500, `${what}: the first attempt`)
    await recover()
    const sent = await send(target, bytes, { uploadUrl: app.url + url, chunkSize: piece, retryDelays: [] })
    t.equal(sent.url, app.url + url, `${what}: the same upload continues`)
    t.equal(sent.path, path, what)
    const stored = await app.download(token, providerId, path)
    t.equal(sha256(new Uint8Array(await stored.arrayBuffer())), sha256(bytes), what)
  }
  await t.test('a file that somebody else stored there is not reported as a success', async t => {
    for (const [type, providerId] of Object.entries(providers)) {
      const target = { url: app.url, token, metadata: { providerId, path: `/theirs-${type}` } }
      const bytes = randomBytes(mib + 7)
      const recover = await failToRecord(app.db)
      const url = (await begin(target, bytes.length)).headers.get('location') ?? ''
      await tus(target, 'PATCH', url, { 'upload-offset': '0' }, bytes)
      await recover()
      const theirs = randomBytes(bytes.length)
      await app.upload(token, providerId, `/theirs-${type}`, theirs, '&conflict=replace')
      const offset = (await tus(target, 'HEAD', url)).headers.get('upload-offset') ?? ''
      const end = await tus(target, 'PATCH', url, { 'upload-offset': offset }, bytes.subarray(Number(offset)))
      t.ok([404, 409].includes(end.status), `${type}: ${end.status}`)
    }
  })
  t.same(await readdir(join(app.folder, '.stowage-staging')).catch(() => []), [])
})

t.test('a server killed while a local file has both names leaves nothing in staging', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder })
  const target = { url: app.url, token, metadata: { providerId, path: '/file' } }
  const bytes = randomBytes(mib + 7)
  const url = (await begin(target, bytes.length)).headers.get('location') ?? ''
  await tus(target, 'PATCH', url, { 'upload-offset': '0' }, bytes.subarray(0, mib))
  const staging = join(app.folder, '.stowage-staging')
  const [staged = ''] = await readdir(staging)
  const recover = await failToRecord(app.db)
  t.equal((await tus(target, 'PATCH', url, { 'upload-offset': `${mib}` }, bytes.subarray(mib))).status, 500)
  await link(join(app.folder, 'file'), join(staging, staged))
  await recover()
  const { path } = await send(target, bytes, { uploadUrl: app.url + url, retryDelays: [] })
  t.equal(path, '/file')
  t.equal(sha256(await readFile(join(app.folder, 'file'))), sha256(bytes))
  t.same(await readdir(staging), [], 'staging is empty')
})

atNight(t, 'an empty file, which is stored on creation, is recorded by the next attempt', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder })
  for (const conflict of ['fail', 'rename', 'replace']) {
    const target = { url: app.url, token, metadata: { providerId, path: `/${conflict}`, conflict } }
    const recover = await failToRecord(app.db)
    t.equal((await begin(target, 0)).status, 500)
    await recover()
    const again = await begin(target, 0)
    t.equal(again.status, 201, conflict)
    t.equal(again.headers.get('upload-stored-path'), `/${conflict}`)
    t.equal((await begin(target, 0)).status, conflict === 'fail' ? 409 : 201, 'a second upload with the same name')
  }
})
