/** A write link must not allow anything else, whatever headers its holder adds. */
import { GetObjectAclCommand, HeadObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import t from 'tap'
import { conformanceCases } from '../../adapters/conformance/index.ts'
import { at, call, get, put } from '../../adapters/conformance/kit.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { faultProxy } from '../servers/fault-proxy.ts'
import { s3Server } from '../servers/radosgw.ts'
import { refuseUnsigned } from '../servers/signed-headers.ts'
import { openS3 } from './s3-provider.ts'

t.setTimeout(300_000)

const server = await s3Server(t)
const secret = 'of somebody else'

/** Headers that change a PUT to something other than the upload of one file. */
function hostile(bucket: string): Record<string, string>[] {
  const source = { 'x-amz-copy-source': `/${bucket}/others/secret` }
  const everybody = 'uri="http://acs.amazonaws.com/groups/global/AllUsers"'
  return [
    source,
    { ...source, 'x-amz-copy-source-range': 'bytes=0-3' },
    { ...source, 'x-amz-metadata-directive': 'REPLACE' },
    { 'x-amz-acl': 'public-read-write' },
    { 'x-amz-grant-read': everybody },
    { 'x-amz-grant-full-control': everybody },
    { 'x-amz-website-redirect-location': 'http://elsewhere.example/' },
    { 'x-amz-tagging': 'a=b' },
    { 'x-amz-meta-name': 'value' },
    { 'X-Amz-Copy-Source': `${bucket}/others/secret` },
  ]
}

const link = (provider: StorageProvider, path: string) =>
  provider.presign?.(at(path), { ...call(), method: 'PUT', expiresIn: 300 })

async function keysOf(bucket: string): Promise<(string | undefined)[]> {
  const { Contents = [] } = await server.client.send(new ListObjectsV2Command({ Bucket: bucket }))
  return Contents.map(({ Key }) => Key)
}

t.test('a server that accepts unsigned headers gets no write links', async t => {
  const bucket = await server.newBucket()
  const provider = await openS3(server, bucket, { config: { prefix: 'team' } })
  t.equal(await link(provider, 'file'), null)
  t.same(await keysOf(bucket), [], 'the test leaves no object')
  const read = await provider.presign(at('file'), { ...call(), method: 'GET', expiresIn: 300 })
  t.ok(read, 'read links still work')
})

t.test('write links of a server that refuses unsigned headers', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  proxy.fault = refuseUnsigned
  const bucket = await server.newBucket()
  const open = (prefix = 'team') => openS3({ ...server, endpoint: proxy.endpoint }, bucket, { config: { prefix } })
  const provider = await open()
  const others = await open('others')
  await put(others, 'secret', secret)

  await t.test('write links store the file', async t => {
    const given = await link(provider, 'file')
    t.ok(given)
    t.notMatch(given?.url.search, /checksum/, 'the link requires no checksum of the body')
    t.ok((await fetch(given?.url ?? '', { method: 'PUT', body: 'content' })).ok)
    t.equal(`${await get(provider, 'file')}`, 'content')
  })

  await t.test('write links do nothing else, whatever headers are added', async t => {
    for (const [i, headers] of hostile(bucket).entries()) {
      const what = JSON.stringify(headers)
      await put(provider, `file ${i}`, 'kept')
      const before = await server.client.send(new HeadObjectCommand({ Bucket: bucket, Key: `team/file ${i}` }))
      const given = await link(provider, `file ${i}`)
      const response = await fetch(given?.url ?? '', { method: 'PUT', headers, body: 'x' })
      t.equal(response.status, 403, what)
      t.equal(`${await get(provider, `file ${i}`)}`, 'kept', what)
      const object = { Bucket: bucket, Key: `team/file ${i}` }
      const { Grants = [] } = await server.client.send(new GetObjectAclCommand(object))
      t.equal(Grants.length, 1, what)
      const { $metadata: _, ...after } = await server.client.send(new HeadObjectCommand(object))
      t.match(before, after, what)
    }
  })

  await t.test('links pass the conformance cases', async t => {
    for (const { name, run } of conformanceCases({ open: () => open(`p ${Math.random()}`) })) {
      if (name.startsWith('presign:')) await t.test(name, async t => t.strictSame(await run(), {}))
    }
  })
})

t.test('one accepted header is enough to make no write links', async t => {
  for (const taken of ['x-amz-copy-source', 'x-amz-acl', 'x-amz-meta-probe']) {
    const proxy = await faultProxy(t, server.endpoint)
    proxy.fault = request => (request.headers[taken] === undefined ? refuseUnsigned(request) : undefined)
    const provider = await openS3({ ...server, endpoint: proxy.endpoint }, await server.newBucket())
    t.equal(await link(provider, 'file'), null, taken)
  }
})

t.test('an outage makes no link and is not cached', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  const provider = await openS3({ ...server, endpoint: proxy.endpoint }, await server.newBucket())
  proxy.fault = () => ({ answer: { status: 503 } })
  t.equal(await link(provider, 'file'), null)
  proxy.fault = refuseUnsigned
  t.ok(await link(provider, 'file'))
})
