/** Small requests that the S3 adapter sends past most of the SDK. */
import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { maxDirectBody } from '../../adapters/backends/s3/direct.ts'
import { encodeKey } from '../../adapters/backends/s3/entry.ts'
import { at, bodyOf, call, has, pattern, rejectsWith } from '../../adapters/conformance/kit.ts'
import { type Fault, faultProxy } from '../servers/fault-proxy.ts'
import { s3Server } from '../servers/radosgw.ts'
import { openS3 } from './s3-provider.ts'

const server = await s3Server(t)

t.test('a key is encoded as its signature needs it', async t => {
  t.equal(encodeKey("a b/ü'(!)*~-_.%"), 'a%20b/%C3%BC%27%28%21%29%2A~-_.%25')
})

/** Opens a provider behind a proxy, and counts the requests with and without the SDK. */
async function openCounted() {
  const proxy = await faultProxy(t, server.endpoint)
  const provider = await openS3({ ...server, endpoint: proxy.endpoint }, await server.newBucket())
  t.teardown(() => provider.close())
  const counts = { direct: 0, sdk: 0 }
  /** @param fault of the requests without the SDK */
  const failDirect = (fault: (request: IncomingMessage) => Fault | undefined) => {
    Object.assign(counts, { direct: 0, sdk: 0 })
    proxy.fault = request => {
      const isDirect = request.headers['amz-sdk-request'] === undefined
      counts[isDirect ? 'direct' : 'sdk'] += 1
      return isDirect ? fault(request) : undefined
    }
  }
  const write = (path: string, bytes: Buffer | string, more: object = {}) =>
    provider.write(at(path), bodyOf(bytes), {
      ...call(),
      overwrite: false,
      size: Buffer.byteLength(bytes),
      ...more,
    })
  return { provider, counts, failDirect, write }
}

t.test(
  'small files are stored, looked at, copied and deleted without the SDK, with all of their properties',
  async t => {
    const { provider, counts, failDirect, write } = await openCounted()
    await write('folder/first', 'content')
    await write('folder/second', 'content')
    failDirect(() => undefined)
    const modifiedAt = new Date('2001-02-03T04:05:06.789Z')
    const written = await write("folder/größe '(1)!*+ %2F.txt", pattern(10_000), { mimeType: 'text/plain', modifiedAt })
    t.same(counts, { direct: 1, sdk: 0 })
    const seen = await provider.stat(at("folder/größe '(1)!*+ %2F.txt"), call())
    t.match(seen, { size: 10_000, mimeType: 'text/plain', etag: written.etag, checksums: written.checksums ?? {} })
    t.equal(counts.sdk, 0)
    const copy = await provider.copy(at("folder/größe '(1)!*+ %2F.txt"), at('folder/copy'), {
      ...call(),
      overwrite: true,
      entry: seen,
    })
    t.equal(counts.sdk, 0)
    t.match(copy, { size: 10_000, etag: written.etag, mimeType: 'text/plain' })
    t.match(await provider.stat(at('folder/copy'), call()), { mimeType: 'text/plain', modifiedAt: copy.modifiedAt })
    await has(provider, 'folder/copy', pattern(10_000))
    failDirect(() => undefined)
    await provider.delete(at('folder/copy'), { ...call(), entry: copy })
    t.same(counts, { direct: 2, sdk: 1 }, 'the SDK lists the folder, which may be empty now')
    await rejectsWith('NOT_FOUND', provider.stat(at('folder/copy'), call()))
    failDirect(({ method }) => (method === 'PUT' ? { answer: { status: 500 } } : undefined))
    await write('folder/large', pattern(maxDirectBody + 1))
    t.equal(counts.sdk, 1, 'the SDK stores a large file')
    t.equal(counts.direct, 1, 'the size is looked up without it')
  },
)

t.test('whatever fails without the SDK succeeds with it', async t => {
  const ways: [string, Fault][] = [
    ['a refusal', { answer: { status: 403 } }],
    ['an error of the server', { answer: { status: 503 } }],
    ['a strange success', { answer: { status: 200, body: 'What?' } }],
    ['an error with the status 200', { answer: { status: 200, body: '<Error><Code>InternalError</Code></Error>' } }],
    ['a lost response', 'lose answer'],
    ['a broken connection', { cutRequestAfter: 0 }],
  ]
  for (const [what, fault] of ways) {
    const { provider, failDirect, write } = await openCounted()
    await write('source', 'content')
    failDirect(({ method }) => (method === 'PUT' ? fault : undefined))
    t.match(await write('file', 'content'), { size: 7 }, what)
    await provider.copy(at('source'), at('copy'), { ...call(), overwrite: false })
    for (const path of ['file', 'copy']) await has(provider, path, 'content')
    await rejectsWith('ALREADY_EXISTS', write('file', 'other'))
    await rejectsWith('ALREADY_EXISTS', provider.copy(at('file'), at('copy'), { ...call(), overwrite: false }))
    await rejectsWith('NOT_FOUND', provider.copy(at('missing'), at('copy'), { ...call(), overwrite: true }))
    await has(provider, 'file', 'content')
  }
})

t.test('a server that refuses such requests gets no more of them for a while', async t => {
  const { provider, counts, failDirect, write } = await openCounted()
  await write('file', 'content')
  failDirect(() => ({ answer: { status: 400 } }))
  for (let round = 0; round < 10; round += 1) t.match(await provider.stat(at('file'), call()), { size: 7 })
  t.same(counts, { direct: 3, sdk: 10 })
})

t.test('an abort ends a request without the SDK', async t => {
  const { provider, counts, failDirect, write } = await openCounted()
  await write('file', 'content')
  const controller = new AbortController()
  const reason = new Error('the client went away')
  failDirect(() => {
    controller.abort(reason)
    return 'stall'
  })
  await t.rejects(provider.stat(at('file'), { signal: controller.signal }), reason)
  t.equal(counts.sdk, 0)
})
