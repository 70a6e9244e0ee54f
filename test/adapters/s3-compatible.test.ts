/** Servers that support a part of S3 only, simulated by a proxy in front of a real one. */
import t, { type Test } from 'tap'
import { at, call, get, namesIn, pattern, put } from '../../adapters/conformance/kit.ts'
import { type Fault, faultProxy } from '../servers/fault-proxy.ts'
import { s3Server } from '../servers/radosgw.ts'
import { openS3 } from './s3-provider.ts'

const server = await s3Server(t)
const bucket = await server.newBucket()

async function behindProxy(t: Test) {
  const proxy = await faultProxy(t, server.endpoint)
  return { proxy, provider: await openS3({ ...server, endpoint: proxy.endpoint }, bucket) }
}

function refusal(method: string | undefined, status: number, code: string): Fault {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>No.</Message></Error>`
  return { answer: { status, headers: { 'content-type': 'application/xml' }, ...(method !== 'HEAD' && { body }) } }
}

t.test('a server may refuse all headers of checksums, as Backblaze B2 does', async t => {
  const { proxy, provider } = await behindProxy(t)
  const refused: string[] = []
  proxy.fault = ({ method, headers }) => {
    const name = Object.keys(headers).find(name => /^x-amz-(sdk-)?checksum/.test(name))
    if (name === undefined) return undefined
    refused.push(name)
    return refusal(method, 400, 'InvalidArgument')
  }
  const bytes = pattern(100_000)
  await put(provider, 'folder/a', bytes)
  await provider.copy(at('folder/a'), at('folder/b'), { ...call(), overwrite: false })
  t.match(await provider.stat(at('folder/b'), call()), { kind: 'file', size: bytes.length })
  t.ok((await get(provider, 'folder/b')).equals(bytes))
  await t.rejects(provider.stat(at('missing'), call()), { code: 'NOT_FOUND' })
  await provider.deleteTree(at('folder'), call())
  t.same(await namesIn(provider, ''), [])
  t.same(
    refused,
    Array(2).fill('x-amz-checksum-mode'),
    'it is asked for checksums once without the SDK, and once with it',
  )
})

t.test('a folder is deleted file by file where the server cannot delete several at once', async t => {
  const { proxy, provider } = await behindProxy(t)
  for (const [status, code] of [
    [501, 'NotImplemented'],
    [400, 'NotImplemented'],
  ] as const) {
    for (const name of ['a', 'b', 'c/d']) await put(provider, `folder/${name}`, pattern(10))
    proxy.fault = ({ method, url }) =>
      method === 'POST' && url?.includes('delete') ? refusal(method, status, code) : undefined
    await provider.deleteTree(at('folder'), call())
    t.same(await namesIn(provider, ''), [], `${status} ${code}`)
  }
  proxy.fault = ({ method, url }) =>
    method === 'POST' && url?.includes('delete') ? refusal(method, 403, 'AccessDenied') : undefined
  await put(provider, 'folder/a', pattern(10))
  await t.rejects(provider.deleteTree(at('folder'), call()), { code: 'PERMISSION_DENIED' })
})
