/** The addresses and credentials of S3: host names of buckets, proxies, rotated secrets, and API keys in headers. */
import { writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { GetObjectCommand, ListBucketsCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import t from 'tap'
import { startNginx } from '../servers/nginx.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { codeOf, createS3World } from './world.ts'

const [secretA, secretB] = ['a'.repeat(32), 'b'.repeat(32)]
const Bucket = 'files'

/** Connects to this machine, whatever the host name is. */
const toLoopback = () =>
  new Agent({
    lookup: (_host, { all }, done) => {
      if (all) done(null, [{ address: '127.0.0.1', family: 4 }])
      else done(null, '127.0.0.1', 4)
    },
  })

t.test('addresses and credentials of S3', async t => {
  const world = await createS3World(t, { secret: secretA, settings: { s3Domain: 's3.stowage.test' } })
  const { app, root } = world
  const { port } = new URL(app.url)
  const { s3: keys, key } = await world.createKey()
  await writeFile(join(root, 'a b.txt'), 'content')
  const get = new GetObjectCommand({ Bucket, Key: 'a b.txt' })
  const list = new ListObjectsV2Command({ Bucket })
  const namesIn = async (client: ReturnType<typeof world.client>) =>
    (await client.send(list)).Contents?.map(({ Key }) => Key)

  await t.test('the S3 domain, and the host names of buckets', async t => {
    const httpAgent = toLoopback()
    t.teardown(() => httpAgent.destroy())
    const endpoint = `http://s3.stowage.test:${port}`
    t.match(keys, { endpoint })
    for (const forcePathStyle of [true, false]) {
      const client = world.client(keys, { endpoint, forcePathStyle, requestHandler: { httpAgent } })
      const { Buckets } = await client.send(new ListBucketsCommand())
      t.same(
        Buckets?.map(({ Name }) => Name),
        [Bucket],
      )
      t.ok((await namesIn(client))?.includes('a b.txt'))
      t.equal(await (await client.send(get)).Body?.transformToString(), 'content')
      await client.send(new PutObjectCommand({ Bucket, Key: 'healthz', Body: 'x' }))
      t.equal(await codeOf(client.send(new ListObjectsV2Command({ Bucket: 'no-such-bucket' }))), 'NoSuchBucket')
    }
    t.equal(await (await fetch(`${app.url}/healthz`)).text(), '{"status":"ok"}', 'other hosts are as before')
  })

  await t.test('an API key or a session in the Authorization header', async t => {
    for (const token of [key, world.token]) {
      const headers = { authorization: `Bearer ${token}` }
      const response = await fetch(`${app.url}/s3/files/a%20b.txt`, { headers })
      t.equal(await response.text(), 'content')
    }
    const { status } = await fetch(`${app.url}/s3`, { headers: { authorization: `Bearer ${keys.secretAccessKey}` } })
    t.equal(status, 403, 'the secret of S3 is no API key')
    const asKey = await fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.secretAccessKey}`, 'content-type': 'application/json' },
      body: '{"query":"{ viewer { kind } }"}',
    })
    t.equal(asKey.status, 401)
  })

  await atNight(t, 'behind a proxy that changes the host and the path', async t => {
    const behind = await app.replica({
      settings: { publicUrl: 'http://public.stowage.test:8080/base', basePath: '/base', trustedProxies: ['127.0.0.1'] },
    })
    const toServer = `location /base/ { proxy_pass ${behind.url}/; proxy_set_header Host internal; }`
    const proxy = await startNginx(t, behind.url, toServer)
    const httpAgent = toLoopback()
    t.teardown(() => httpAgent.destroy())
    const signing = world.client(keys, { endpoint: 'http://public.stowage.test:8080/base/s3' })
    const url = await getSignedUrl(signing, get, { expiresIn: 60 })
    const throughProxy = url.replace('http://public.stowage.test:8080', proxy)
    const response = await fetch(throughProxy)
    t.equal(await response.text(), 'content')
    t.equal((await fetch(throughProxy.replace('a%20b.txt', 'healthz'))).status, 403)
  })

  await atNight(
    t,
    'the credentials outlive a rotation of the secret for as long as the old one is accepted',
    async t => {
      const both = await app.replica({ secret: secretB, previousSecret: secretA })
      const client = (url: string, s3 = keys) => world.client(s3, { endpoint: `${url}/s3` })
      t.ok(await namesIn(client(both.url)))
      const query =
        'mutation { createApiKey(input: { name: "new", scopes: [read] }) { s3 { accessKeyId secretAccessKey } } }'
      const { createApiKey } = await both.ask(query, {}, world.token)
      t.ok(await namesIn(client(both.url, createApiKey.s3)))
      const rotated = await app.replica({ secret: secretB })
      t.ok(await namesIn(client(rotated.url, createApiKey.s3)))
      t.equal(await codeOf(client(rotated.url).send(list)), 'SignatureDoesNotMatch')
    },
  )

  await t.test('a key that has expired, and an owner who has lost access', async t => {
    const { s3: expired, id } = await world.createKey({ expiresAt: new Date(Date.now() + 60_000).toISOString() })
    t.ok(await namesIn(world.client(expired)))
    await app.db
      .updateTable('api_keys')
      .set({ expires_at: new Date(Date.now() - 1000) })
      .where('id', '=', id)
      .execute()
    // The server keeps what it has read of the key for up to a second, and does not know of this change.
    await until(async () => (await codeOf(world.client(expired).send(list))) === 'AccessDenied')
  })

  await atNight(t, 'the limit of requests counts those over S3', async t => {
    const limited = await app.replica({ settings: { rateLimit: 20 } })
    const client = world.client(keys, { endpoint: `${limited.url}/s3` })
    const codes = await Promise.all(Array.from({ length: 30 }, () => codeOf(client.send(list))))
    t.ok(codes.includes('none'))
    t.ok(codes.includes('SlowDown'))
    const headers = { authorization: `Bearer ${key}` }
    t.equal((await fetch(`${limited.url}/s3`, { headers })).status, 503, 'the key has one limit for all front ends')
  })
})
