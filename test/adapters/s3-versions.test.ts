/** A bucket with versioning: the adapter shows the versions that it keeps, and Stowage keeps no second copy of them. */
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectLockConfigurationCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import t from 'tap'
import { at, call, put } from '../../adapters/conformance/kit.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { s3Server } from '../servers/radosgw.ts'
import { runJob } from '../services/jobs-world.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { runVersionCases } from './conformance.ts'
import { configFor, openS3 } from './s3-provider.ts'

// The server may need to be installed first.
t.setTimeout(300_000)

const server = await s3Server(t)
const bucket = await server.newBucket()
const versioning = (Status: 'Enabled' | 'Suspended') =>
  server.client.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration: { Status } }))
await versioning('Enabled')

/** Returns a time that is after everything that was done before, and before everything that is done next. */
async function moment(): Promise<string> {
  const next = Math.ceil(Date.now() / 1000) * 1000
  await until(() => Date.now() > next)
  return new Date(next - 1).toISOString()
}

let count = 0
const open = () => openS3(server, bucket, { config: { prefix: `p ${count++}` } })
runVersionCases(t, { open }, 0)

t.test('a deleted file has versions, and only a bucket that keeps them', async t => {
  const provider: StorageProvider = await open()
  for (const content of ['1', '22']) await put(provider, 'file', content, true)
  await provider.delete(at('file'), call())
  const { versions } = (await provider.versions?.list(at('file'), { ...call(), limit: 10 })) ?? { versions: [] }
  t.same(
    versions.map(({ size }) => size),
    [2, 1],
  )
  t.ok(versions.every(({ modifiedAt, replacedAt }) => modifiedAt && replacedAt && replacedAt >= modifiedAt))
  const restored = await provider.versions?.restore?.(at('file'), versions[1]?.id ?? '', call())
  t.equal(restored?.size, 1)
  await provider.close?.()
  const other = await openS3(server, await server.newBucket())
  t.equal(other.versions, undefined)
  await other.close?.()
})

t.test('people list, read, restore and delete the versions of the bucket', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const { prefix, ...config } = configFor(server, bucket, { prefix: 'app' })
  const providerId = await app.connectProvider(token, 's3', { ...config, prefix }, 'Bucket')
  const traits = '{ providers { versions { count isNative isOneStep } } }'
  t.same((await app.ask(traits, {}, token)).providers, [{ versions: { count: 0, isNative: true, isOneStep: false } }])
  for (const content of ['1', '22', '333']) await app.upload(token, providerId, '/a.txt', content, '&conflict=replace')
  const query = `query ($id: ID!, $first: Int!, $after: String) { file(providerId: $id, path: "/a.txt") {
    versions(first: $first, after: $after) { pageInfo { hasNextPage endCursor }
      nodes { id size isCurrent replacedAt expiresAt replacedBy { id } downloadUrl } } } }`
  const list = async (first: number, after: string | null = null) =>
    (await app.ask(query, { id: providerId, first, after }, token)).file.versions
  const all = await list(10)
  t.match(all.nodes, [
    { size: 3, isCurrent: true },
    { size: 2, isCurrent: false, expiresAt: null, replacedBy: null },
    { size: 1, isCurrent: false },
  ])
  t.equal(all.pageInfo.hasNextPage, false)
  const sizes: number[] = []
  for (let after: string | null = null, isMore = true; isMore; ) {
    const page = await list(1, after)
    sizes.push(...page.nodes.map(({ size }: { size: number }) => size))
    after = page.pageInfo.endCursor
    isMore = page.pageInfo.hasNextPage
  }
  t.same(sizes, [3, 2, 1], 'in pages')

  const [, newer, older] = all.nodes
  t.equal(await (await fetch(older.downloadUrl)).text(), '1')
  const params = new URLSearchParams({ providerId, path: '/a.txt', version: older.id })
  const part = await app.request(`/api/download/proxy?${params}`, { token, headers: { range: 'bytes=0-0' } })
  t.same([part.status, await part.text()], [206, '1'])
  t.equal(
    await app.db
      .selectFrom('file_versions')
      .select('id')
      .execute()
      .then(rows => rows.length),
    0,
    'no second copy',
  )

  await app.ask('mutation ($id: ID!) { restoreVersion(input: { id: $id }) { path } }', { id: older.id }, token)
  t.equal((await list(10)).nodes[0].size, 1)
  const rename = 'mutation ($id: ID!) { restoreVersion(input: { id: $id, conflict: RENAME }) { path } }'
  t.equal((await app.ask(rename, { id: newer.id }, token)).restoreVersion.path, '/a (1).txt')
  await app.ask('mutation ($id: ID!) { deleteVersion(id: $id) }', { id: newer.id }, token)
  t.notOk((await list(10)).nodes.some(({ id }: { id: string }) => id === newer.id))

  const hold = 'mutation ($input: CreateHoldInput!) { createHold(input: $input) { id } }'
  await app.ask(hold, { input: { providerId, path: '/a.txt', reason: 'x' } }, token)
  const { errors } = await app.graphql('mutation ($id: ID!) { deleteVersion(id: $id) }', { id: older.id }, token)
  t.equal(errors[0]?.extensions.reason, 'ON_HOLD')
  const unknown = await app.request(
    `/api/download/proxy?${new URLSearchParams({ providerId, path: '/a.txt', version: Buffer.from(JSON.stringify(['native:x', providerId, '/a.txt'])).toString('base64url') })}`,
    { token },
  )
  t.equal(unknown.status, 404)
})

atNight(t, 'a RESTORE and S3 use the versions of the bucket', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const config = configFor(server, bucket, { prefix: 'restored' })
  const connect = 'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }'
  const input = { type: 's3', name: 'Bucket', slug: 'bucket', config }
  const providerId = (await app.ask(connect, { input }, token)).connectProvider.provider.id
  const store = (path: string, content: string) => app.upload(token, providerId, path, content, '&conflict=replace')
  const remove = (path: string) =>
    app.ask(
      'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }',
      { input: { providerId, path, recursive: true } },
      token,
    )
  for (const [path, content] of Object.entries({ a: '1', gone: 'g', 'sub/b': 'b', same: 's' }))
    await store(`/d/${path}`, content)
  const time = await moment()
  for (const content of ['22', '333']) await store('/d/a', content)
  await remove('/d/gone')
  await remove('/d/sub')
  await store('/d/new', 'n')
  await store('/d/new2', 'n')
  await remove('/d/new2')
  const files = async () => {
    const found: Record<string, string> = {}
    for (const name of ['a', 'gone', 'sub/b', 'same', 'new', 'new2']) {
      const params = new URLSearchParams({ providerId, path: `/d/${name}` })
      const response = await app.request(`/api/download/proxy?${params}`, { token })
      if (response.ok) found[name] = await response.text()
    }
    return found
  }
  const restore = (more: object) =>
    runJob({ app, token }, { kind: 'RESTORE', sources: [{ providerId, path: '/d' }], restoreAt: time, ...more })
  const dry = await restore({ dryRun: true, deleteExtra: true })
  const query = 'query ($id: ID!) { job(id: $id) { restoreSteps(first: 10) { nodes { action path } } } }'
  const steps = (await app.ask(query, { id: dry.id }, token)).job.restoreSteps.nodes
  t.same(steps.map(({ action, path }: { action: string; path: string }) => `${action} ${path}`).sort(), [
    'CREATE /d/gone',
    'CREATE /d/sub/b',
    'DELETE /d/new',
    'REPLACE /d/a',
  ])
  t.same(await files(), { a: '333', same: 's', new: 'n' }, 'a dry run changes nothing')
  t.match(await restore({}), { state: 'SUCCEEDED', progress: { files: 3, failed: 0 } })
  t.same(await files(), { a: '1', gone: 'g', 'sub/b': 'b', same: 's', new: 'n' })
  const again = await restore({ deleteExtra: true })
  t.match(again, { state: 'SUCCEEDED', progress: { files: 0, deleted: 1 } }, 'everything is back')
  t.equal((await files()).new, undefined, 'the bucket keeps what was deleted')

  const create = `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { s3 { accessKeyId secretAccessKey } } }`
  const key = { input: { name: 's3', scopes: ['admin'] } }
  const { s3: credentials } = (await app.ask(create, key, token)).createApiKey
  const options = { endpoint: `${app.url}/s3`, region: 'us-east-1', forcePathStyle: true, credentials, maxAttempts: 1 }
  const s3 = new S3Client(options)
  t.teardown(() => s3.destroy())
  const Bucket = 'bucket'
  const listed = async (MaxKeys: number) => {
    const found: { Key: string; Size: number; VersionId: string }[] = []
    for (let markers = {}; ; ) {
      const page = await s3.send(new ListObjectVersionsCommand({ Bucket, Prefix: 'd/', MaxKeys, ...markers }))
      for (const { Key = '', Size = 0, VersionId = '' } of page.Versions ?? []) found.push({ Key, Size, VersionId })
      if (!page.IsTruncated) return found
      markers = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker }
    }
  }
  const makeFolder = 'mutation ($input: CreateFolderInput!) { createFolder(input: $input) { path } }'
  await app.ask(makeFolder, { input: { providerId, path: '/d/empty' } }, token)
  const all = await listed(1000)
  t.ok(all.some(({ Key }) => Key === 'd/empty/'))
  const ofA = all.filter(({ Key }) => Key === 'd/a')
  t.same(
    ofA.map(({ Size }) => Size),
    [1, 3, 2, 1],
  )
  t.same([await listed(1), await listed(2)], [all, all], 'in pages')
  const [, { VersionId } = { VersionId: '' }] = ofA
  const { Body, VersionId: named } = await s3.send(new GetObjectCommand({ Bucket, Key: 'd/a', VersionId }))
  t.same([await Body?.transformToString(), named], ['333', VersionId])
  const CopySource = `${Bucket}/d/a?versionId=${VersionId}`
  t.equal((await s3.send(new CopyObjectCommand({ Bucket, Key: 'd/copy', CopySource }))).CopySourceVersionId, VersionId)
  await s3.send(new CopyObjectCommand({ Bucket, Key: 'd/a', CopySource }))
  t.same([(await files()).a, (await listed(1000)).filter(({ Key }) => Key === 'd/a').length], ['333', 5])
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'd/a', VersionId }))
  t.notOk((await listed(1000)).some(each => each.VersionId === VersionId))
  const lock = new PutObjectLockConfigurationCommand({
    Bucket,
    ObjectLockConfiguration: { ObjectLockEnabled: 'Enabled' },
  })
  await t.rejects(s3.send(lock), { message: /rules of its own/ }, 'Object Lock needs versions of Stowage')
})
