/** The rights of a transfer are in memory, and so is the version of its provider. */
import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  CopyObjectCommand,
  CreateBucketCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import t from 'tap'
import { createS3World } from '../s3/world.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { davClient, lockInfo } from '../webdav/client.ts'

const update = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }'
const disconnect = 'mutation ($id: ID!) { disconnectProvider(id: $id) }'

t.test('a download and an upload to an open provider ask the database nothing', async t => {
  const queries: string[] = []
  const app = await startApp(t, { onQuery: ({ sql }) => queries.push(sql) })
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder })
  const { key } = await app.createKey(token, { name: 'key', scopes: ['write'] })
  await app.upload(token, providerId, '/file', 'content')
  let turn = 0
  for (const credential of [key, token]) {
    for (const send of [
      () => app.download(credential, providerId, '/file'),
      () => app.upload(credential, providerId, `/new ${turn++}`, 'content'),
    ]) {
      const checked = async () => {
        const response = await send()
        await response.arrayBuffer()
        t.ok(response.ok)
      }
      t.equal(await countQueries(queries, checked, 0), 0)
    }
  }
})

atNight(t, 'a provider that is named by its slug takes no query', async t => {
  const queries: string[] = []
  const world = await createS3World(t, { onQuery: ({ sql }) => queries.push(sql) })
  const { app, root, token } = world
  const { s3, key } = await world.createKey()
  await writeFile(join(root, 'file'), 'content')
  const client = world.client(s3)
  const dav = davClient(app, key)
  const [Bucket, Key] = ['files', 'file']
  let turn = 0
  const fetched = async (path: string, credential: string) => {
    const response = await app.request(path, { token: credential })
    t.equal(await response.text(), 'content')
  }
  const put = () => dav('PUT', `/files/dav ${turn++}`, { body: 'content' })
  const requests: Record<string, () => Promise<unknown>> = {
    'GET over S3': async () => (await client.send(new GetObjectCommand({ Bucket, Key }))).Body?.transformToString(),
    'HEAD over S3': () => client.send(new HeadObjectCommand({ Bucket, Key })),
    'PUT over S3': () => client.send(new PutObjectCommand({ Bucket, Key: `s3 ${turn++}`, Body: 'content' })),
    ListObjectsV2: () => client.send(new ListObjectsV2Command({ Bucket })),
    'GET over S3 with a key': () => fetched('/s3/files/file', key),
    'GET over S3 with a session': () => fetched('/s3/files/file', token),
    'GET over WebDAV': () => dav('GET', '/files/file'),
    'GET over WebDAV with a session': () => fetched('/dav/files/file', token),
    'PUT over WebDAV': put,
  }
  for (const [name, send] of Object.entries(requests)) t.equal(await countQueries(queries, send, 0), 0, name)
  t.equal((await dav('LOCK', '/files/locked', { body: lockInfo() })).status, 201)
  t.equal(await countQueries(queries, put, 2), 2, 'WebDAV reads the locks, and so does the write')
})

/**
 * Returns the smallest number of queries of a request in several rounds. The server itself may query at the same time, such as for the
 * audit log, or because its lease has ended on a busy machine.
 * @param queries to which the server adds @param expected the number after which no further round is needed
 */
async function countQueries(queries: string[], send: () => Promise<unknown>, expected: number): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5 || (round < 50 && fewest > expected); round++) {
    queries.length = 0
    await send()
    fewest = Math.min(fewest, queries.length)
  }
  return fewest
}

t.test('a hidden provider and a missing one take the same queries and have the same response', async t => {
  const queries: string[] = []
  const world = await createS3World(t, { onQuery: ({ sql }) => queries.push(sql) })
  const { app, root, providerId: allowed } = world
  await writeFile(join(root, 'file'), 'content')
  const hidden = await world.connect('Hidden', 'hidden')
  await writeFile(join(hidden.root, 'file'), 'content')
  const names = { hidden: { slug: 'hidden', id: hidden.providerId }, missing: { slug: 'nobody', id: randomUUID() } }
  const scopes = ['read', 'write']
  const { s3, key } = await world.createKey({ scopes, providerAccess: { restrictions: [{ providerId: allowed }] } })
  const client = world.client(s3)
  const dav = davClient(app, key)
  const textOf = async ({ status, text }: { status: number; text: string }) => `${status} ${text}`
  const davText = async (...sent: Parameters<typeof dav>) => textOf(await dav(...sent))
  const fetched = async (path: string, init: Parameters<typeof app.request>[1] = {}) => {
    const response = await app.request(path, { token: key, ...init })
    return textOf({ status: response.status, text: await response.text() })
  }
  const failed = (sending: Promise<unknown>) =>
    sending.then(
      () => 'none',
      error => `${error.$metadata?.httpStatusCode} ${error.Code} ${error.message}`,
    )
  const Key = 'file'
  const requests: Record<string, (name: { slug: string; id: string }) => Promise<string>> = {
    'GET over S3': ({ slug }) => failed(client.send(new GetObjectCommand({ Bucket: slug, Key }))),
    'HEAD over S3': ({ slug }) => failed(client.send(new HeadObjectCommand({ Bucket: slug, Key }))),
    'PUT over S3': ({ slug }) => failed(client.send(new PutObjectCommand({ Bucket: slug, Key, Body: 'x' }))),
    ListObjectsV2: ({ slug }) => failed(client.send(new ListObjectsV2Command({ Bucket: slug }))),
    CreateBucket: ({ slug }) => failed(client.send(new CreateBucketCommand({ Bucket: slug }))),
    CopyObject: ({ slug }) =>
      failed(client.send(new CopyObjectCommand({ Bucket: 'files', Key: 'copy', CopySource: `${slug}/${Key}` }))),
    'GET over S3 with the key': ({ slug }) => fetched(`/s3/${slug}/file`),
    'GET over WebDAV': ({ slug }) => davText('GET', `/${slug}/file`),
    'PROPFIND over WebDAV': ({ slug }) => davText('PROPFIND', `/${slug}/`, { headers: { depth: '1' } }),
    'PUT over WebDAV': ({ slug }) => davText('PUT', `/${slug}/new`, { body: 'x' }),
    'LOCK over WebDAV': ({ slug }) => davText('LOCK', `/${slug}/file`, { body: lockInfo() }),
    'COPY over WebDAV': ({ slug }) =>
      davText('COPY', '/files/file', { headers: { destination: `${app.url}/dav/${slug}/file` } }),
    'a download': ({ id }) => fetched(`/api/download/proxy?providerId=${id}&path=/file`),
    'an upload': ({ id }) =>
      fetched(`/api/upload/proxy?providerId=${id}&path=/new`, { method: 'POST', body: 'content' }),
  }
  for (const [what, send] of Object.entries(requests)) {
    const outcomes = { hidden: '', missing: '' }
    const fewest = { hidden: Number.POSITIVE_INFINITY, missing: Number.POSITIVE_INFINITY }
    for (let round = 0; round < 5; round++) {
      for (const kind of ['hidden', 'missing'] as const) {
        const { slug, id } = names[kind]
        queries.length = 0
        const text = await send({ slug, id })
        // The server itself may query at the same time, such as for the audit log.
        fewest[kind] = Math.min(fewest[kind], queries.length)
        const name = new RegExp(`${slug}|${id}`, 'g')
        outcomes[kind] = text.replace(name, 'name').replace(/[\da-f]{8}-[\da-f-]{27}/g, 'request')
      }
    }
    t.equal(fewest.missing, fewest.hidden, `${what}: ${fewest.hidden} queries`)
    t.equal(outcomes.missing, outcomes.hidden, `${what}: ${outcomes.hidden}`)
    t.notMatch(outcomes.hidden, /^(?:none|2)/, what)
  }
})

atNight(t, 'requests with different credentials and providers share the query', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const providers = await Promise.all(
    [0, 1, 2].map(async number => {
      const root = join(app.folder, `${number}`)
      await mkdir(root)
      await writeFile(join(root, 'file'), `content ${number}`)
      return await app.connectProvider(token, 'local', { root }, `disk ${number}`)
    }),
  )
  const keys = await Promise.all([0, 1, 2].map(name => app.createKey(token, { name: `${name}`, scopes: ['read'] })))
  const credentials = [token, ...keys.map(({ key }) => key)]
  const missing = '00000000-0000-4000-8000-000000000000'
  for (let round = 0; round < 3; round++) {
    await Promise.all(
      credentials.flatMap(credential => [
        ...providers.map(async (id, number) => {
          const response = await app.download(credential, id, '/file')
          t.equal(await response.text(), `content ${number}`)
        }),
        ...providers.map(async (_, number) => {
          const response = await app.request(`/s3/disk-${number}/file`, { token: credential })
          t.equal(await response.text(), `content ${number}`)
        }),
        app.request('/dav/no-such-disk/file', { token: credential }).then(({ status }) => t.equal(status, 404)),
        app.download(credential, missing, '/file').then(({ status }) => t.equal(status, 404)),
        app.download(`${credential}x`, providers[0] ?? '', '/file').then(({ status }) => t.equal(status, 401)),
      ]),
    )
  }
})

atNight(t, 'the next request sees a provider that another replica has changed or disconnected', async t => {
  const app = await startApp(t)
  const other = await app.replica()
  const { token } = await app.register('owner@example.org')
  const folders = ['first', 'second'].map(name => join(app.folder, name))
  for (const folder of folders) {
    await mkdir(folder)
    await writeFile(join(folder, 'file'), folder)
  }
  const id = await app.connectProvider(token, 'local', { root: folders[0] })
  const { key } = await app.createKey(token, { name: 'key', scopes: ['read'] })
  const read = async (credential: string) => (await app.download(credential, id, '/file')).text()
  for (const root of [folders[0], folders[1], folders[0], folders[1]]) {
    await other.ask(update, { input: { id, config: { root } } }, token)
    for (const credential of [key, token, key]) t.equal(await read(credential), root)
  }
  await other.ask(update, { input: { id, slug: 'renamed' } }, token)
  for (const credential of [key, token]) {
    const statusOf = async (slug: string) => (await app.request(`/dav/${slug}/file`, { token: credential })).status
    t.equal(await statusOf('local'), 404)
    t.equal(await statusOf('renamed'), 200)
  }
  await other.ask(disconnect, { id }, token)
  for (const credential of [key, token]) t.equal((await app.download(credential, id, '/file')).status, 404)
})
