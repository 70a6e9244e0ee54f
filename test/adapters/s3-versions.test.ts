/** A bucket with versioning: the adapter shows the versions that it keeps, and Stowage keeps no second copy of them. */
import { PutBucketVersioningCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { at, call, put } from '../../adapters/conformance/kit.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { s3Server } from '../servers/radosgw.ts'
import { startApp } from '../support/app.ts'
import { runVersionCases } from './conformance.ts'
import { configFor, openS3 } from './s3-provider.ts'

// The server may need to be installed first.
t.setTimeout(300_000)

const server = await s3Server(t)
const bucket = await server.newBucket()
const versioning = (Status: 'Enabled' | 'Suspended') =>
  server.client.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration: { Status } }))
await versioning('Enabled')

let count = 0
const open = () => openS3(server, bucket, { config: { prefix: `p ${count++}` } })
runVersionCases(t, { open })

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
