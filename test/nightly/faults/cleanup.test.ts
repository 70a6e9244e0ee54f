/** Storage of unfinished uploads at S3 is freed, even if the first attempt fails. */
import { randomBytes } from 'node:crypto'
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { metadataHeader, type TusTarget, tus, tusPath } from '../../http/tus.ts'
import { faultProxy } from '../../servers/fault-proxy.ts'
import { s3Server } from '../../servers/radosgw.ts'
import { startApp } from '../../support/app.ts'

const mib = 1024 * 1024

async function start(t: Test) {
  const server = await s3Server(t)
  const bucket = await server.newBucket()
  const proxy = await faultProxy(t, server.endpoint)
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const { accessKeyId, secretAccessKey, region } = server
  const config = { bucket, endpoint: proxy.endpoint, region, accessKeyId, secretAccessKey, forcePathStyle: true }
  const providerId = await app.connectProvider(token, 's3', config)
  const target: TusTarget = { url: app.url, token, metadata: { providerId, path: '/file' } }
  const size = 20 * mib
  return {
    app,
    storedAtS3: async () => {
      const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
      return Uploads.length
    },
    rows: async () => (await app.db.selectFrom('uploads').select('id').execute()).length,
    expire: (days: number) =>
      app.db
        .updateTable('uploads')
        .set({ expires_at: sql<Date>`now() - make_interval(days => ${days})` })
        .execute(),
    /** Refuses up to `most` requests that abort an upload. Returns a function that counts the refusals. */
    refuse(most: number) {
      let refused = 0
      proxy.fault = ({ method, url }) => {
        if (method !== 'DELETE' || !url?.includes('uploadId') || refused >= most) return undefined
        refused += 1
        return { answer: { status: 503, body: '<Error><Code>SlowDown</Code></Error>' } }
      }
      return () => refused
    },
    async begin() {
      const headers = { 'upload-length': `${size}`, 'upload-metadata': metadataHeader(target.metadata) }
      return (await tus(target, 'POST', tusPath, headers)).headers.get('location') ?? ''
    },
    send: (url: string) => tus(target, 'PATCH', url, { 'upload-offset': '0' }, randomBytes(9 * mib)),
  }
}

t.test('the sweep retries a failed cleanup for a week', async t => {
  const { app, begin, expire, storedAtS3, refuse, rows, send } = await start(t)
  await send(await begin())
  t.equal(await storedAtS3(), 1)
  await expire(1)
  const refused = refuse(Number.POSITIVE_INFINITY)
  await app.app.services.uploads.sweep(new AbortController().signal)
  t.ok(refused() > 0)
  t.same([await storedAtS3(), await rows()], [1, 1])
  refuse(0)
  await app.app.services.uploads.sweep(new AbortController().signal)
  t.same([await storedAtS3(), await rows()], [0, 0])

  await send(await begin())
  await expire(8)
  refuse(Number.POSITIVE_INFINITY)
  await app.app.services.uploads.sweep(new AbortController().signal)
  t.same([await storedAtS3(), await rows()], [1, 0], 'after a week the row is deleted')
})

t.test('an upload whose state cannot be saved is aborted, even while S3 is busy', async t => {
  const { app, begin, storedAtS3, refuse, send } = await start(t)
  const url = await begin()
  await sql`create function refuse() returns trigger language plpgsql
    as 'begin raise exception ''no''; end'`.execute(app.db)
  await sql`create trigger refuse before update of state on uploads for each row
    when (new.state is distinct from old.state) execute function refuse()`.execute(app.db)
  // One more than the attempts of the S3 client itself.
  const refused = refuse(5)
  t.equal((await send(url)).status, 500)
  t.equal(refused(), 5)
  t.equal(await storedAtS3(), 0)
})
