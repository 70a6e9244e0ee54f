import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { DeleteBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import t, { type Test } from 'tap'
import { Bucket, defaultLimits, noConditions } from '../../adapters/backends/s3/client.ts'
import { parseConfig } from '../../adapters/backends/s3/config.ts'
import { s3Adapter } from '../../adapters/backends/s3/index.ts'
import { sign } from '../../adapters/backends/s3/links.ts'
import { providerOf } from '../../adapters/backends/s3/provider.ts'
import { at, call, get, has, namesIn, pattern, put } from '../../adapters/conformance/kit.ts'
import { type Fault, faultProxy } from '../servers/fault-proxy.ts'
import { s3Server } from '../servers/radosgw.ts'
import { atNight, extent } from '../support/extent.ts'
import { silentHost } from './host.ts'
import { configFor, openS3 } from './s3-provider.ts'

t.setTimeout(300_000)

const mib = 1024 * 1024
const server = await s3Server(t)
const bucket = await server.newBucket()

/** A provider whose requests all go through a proxy. */
async function behindProxy(t: Test, limits = {}) {
  const proxy = await faultProxy(t, server.endpoint)
  return { proxy, provider: await openS3({ ...server, endpoint: proxy.endpoint }, bucket, { limits }) }
}

t.test('a read whose connection breaks or stalls continues at the same byte', async t => {
  const { proxy, provider } = await behindProxy(t, { idleTime: 1000 })
  const bytes = pattern(3 * mib)
  await put(provider, 'file', bytes)
  const ranges = [{ offset: 1000, length: 2 * mib }, undefined]
  for (const kind of extent({ gate: ['cutAnswerAfter'], nightly: ['cutAnswerAfter', 'stallAnswerAfter'] })) {
    for (const range of extent({ gate: ranges.slice(0, 1), nightly: ranges })) {
      const asked: (string | undefined)[] = []
      proxy.fault = ({ method, headers }) => {
        if (method !== 'GET') return undefined
        asked.push(headers.range)
        return asked.length <= 4 ? ({ [kind]: 300_000 } as Fault) : undefined
      }
      const expected = bytes.subarray(range?.offset ?? 0, range && range.offset + range.length)
      t.ok((await get(provider, 'file', range)).equals(expected), `${kind} ${JSON.stringify(range)}`)
      t.equal(asked.length, 5, 'each range was requested once')
    }
  }
})

atNight(t, 'a read without progress, or of a file that was replaced, ends with an error', async t => {
  const { proxy, provider } = await behindProxy(t, { idleTime: 1000 })
  await put(provider, 'file', pattern(mib))
  proxy.fault = ({ method, headers }) => {
    if (method !== 'GET') return undefined
    return headers.range ? { cutAnswerAfter: 0 } : { cutAnswerAfter: 100_000 }
  }
  await t.rejects(get(provider, 'file'), { code: 'UNAVAILABLE', message: /closed the connection/ })
  let replaced = false
  proxy.fault = ({ method, headers }) => {
    if (method !== 'GET') return undefined
    if (!headers.range) return { cutAnswerAfter: 100_000 }
    return replaced ? undefined : 'stall'
  }
  const { body } = await provider.read(at('file'), call())
  await put(provider, 'file', pattern(mib, 1), true)
  replaced = true
  await t.rejects(buffer(body), { code: 'UNAVAILABLE', message: /changed while it was read/ })
})

atNight(t, 'a server that never responds is UNAVAILABLE', async t => {
  const { proxy, provider } = await behindProxy(t, { idleTime: 1000 })
  await put(provider, 'file', 'content')
  proxy.fault = () => 'stall'
  const calls = [provider.stat(at('file'), call()), provider.read(at('file'), call()), put(provider, 'other', 'x')]
  for (const result of await Promise.allSettled<unknown>(calls)) {
    t.match(result, { status: 'rejected', reason: { code: 'UNAVAILABLE', message: /did not respond in time/ } })
  }
  const controller = new AbortController()
  const reason = new Error('gone')
  setTimeout(() => controller.abort(reason), 50)
  await t.rejects(provider.stat(at('file'), { signal: controller.signal }), reason)
  proxy.fault = undefined
  await has(provider, 'file', 'content')
})

atNight(t, 'a server that does not speak HTTP is UNAVAILABLE', async t => {
  const talker = createServer(socket => socket.on('error', () => {}).end('SSH-2.0-OpenSSH_9.2\r\n'))
  await once(talker.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => talker.close())
  const endpoint = `http://127.0.0.1:${(talker.address() as AddressInfo).port}`
  const message = /does not speak HTTP/
  await t.rejects(openS3({ ...server, endpoint }, bucket), { code: 'UNAVAILABLE', message })
})

t.test('a response with another range than requested is refused', async t => {
  const { proxy, provider } = await behindProxy(t)
  await put(provider, 'file', pattern(mib))
  const etag = `"${'0'.repeat(32)}"`
  for (const more of [{}, { 'content-range': 'bytes 5-14/100' }, { 'content-range': 'bytes 0-9/*' }]) {
    for (const offset of [0, 3]) {
      proxy.fault = ({ method }) =>
        method === 'GET' ? { answer: { status: 200, headers: { etag, ...more }, body: '0123456789' } } : undefined
      await t.rejects(get(provider, 'file', { offset, length: 5 }), { code: 'UNAVAILABLE', message: /which part/ })
    }
  }
  // The same holds when a read continues.
  proxy.fault = ({ method, headers }) => {
    if (method !== 'GET') return undefined
    return headers.range
      ? { answer: { status: 200, headers: { etag }, body: 'x'.repeat(mib) } }
      : { cutAnswerAfter: 300_000 }
  }
  await t.rejects(get(provider, 'file'), { code: 'UNAVAILABLE', message: /which part/ })
})

atNight(t, 'many slow readers do not block other calls', async t => {
  const provider = await openS3(server, bucket)
  await put(provider, 'file', pattern(mib))
  const bodies = await Promise.all(
    Array.from(
      { length: extent({ gate: 60, nightly: 100 }) },
      async () => (await provider.read(at('file'), call())).body,
    ),
  )
  await has(provider, 'file', pattern(mib))
  t.strictSame(await namesIn(provider, ''), ['file'])
  for (const body of bodies) body.destroy()
})

const xml = (code: string, more = '') =>
  `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code>${more}</Error>`

t.test('each refusal of S3 has a code and a message', async t => {
  const { proxy, provider } = await behindProxy(t)
  const answers: [number, string, Record<string, string>, string, RegExp, number?][] = [
    [503, xml('SlowDown'), {}, 'RATE_LIMITED', /too many requests/],
    [503, xml('SlowDown'), { 'retry-after': '1' }, 'RATE_LIMITED', /too many requests/, 1000],
    [503, '', { 'retry-after': '1' }, 'RATE_LIMITED', /too many requests/, 1000],
    [429, '', { 'retry-after': '1' }, 'RATE_LIMITED', /too many requests/, 1000],
    [503, '', {}, 'UNAVAILABLE', /is failing \(HTTP 503\)/],
    [500, xml('InternalError'), {}, 'UNAVAILABLE', /HTTP 500/],
    [403, xml('AccessDenied'), {}, 'PERMISSION_DENIED', /check their permissions/],
    [400, xml('ExpiredToken'), {}, 'UNAUTHORIZED', /session token has expired/],
    [
      400,
      xml('AuthorizationHeaderMalformed', '<Region>eu-west-3</Region>'),
      {},
      'UNAVAILABLE',
      /region eu-west-3, not in us-east-1/,
    ],
    [301, xml('PermanentRedirect'), { 'x-amz-bucket-region': 'sa-east-1' }, 'UNAVAILABLE', /region sa-east-1/],
    [
      403,
      xml('RequestTimeTooSkewed'),
      { date: new Date(Date.now() - 5_400_000).toUTCString() },
      'UNAVAILABLE',
      /90 minutes ahead/,
    ],
    [
      403,
      xml('RequestTimeTooSkewed'),
      { date: new Date(Date.now() + 7_200_000).toUTCString() },
      'UNAVAILABLE',
      /120 minutes behind/,
    ],
    [403, xml('QuotaExceeded'), {}, 'QUOTA_EXCEEDED', /back end is full/],
    [400, xml('KeyTooLongError'), {}, 'INVALID_PATH', /cannot store such a name/],
    [200, '<!doctype html><p>Welcome', { 'content-type': 'text/html' }, 'UNAVAILABLE', /is not an S3 server/],
  ]
  await Promise.all(
    extent({ gate: answers.filter((_, index) => index % 8 === 6), nightly: answers }).map(
      async ([status, body, headers, code, message, retryAfterMs]) => {
        const one = await behindProxy(t)
        one.proxy.fault = () => ({ answer: { status, headers, body } })
        const error = await one.provider.list(at(''), { ...call(), limit: 10 }).catch(error => error)
        t.match(error, { name: 'StorageError', code, message, retryAfterMs }, `${status} ${body}`)
        t.notMatch(error.message, /<|undefined|NaN/)
      },
    ),
  )
  proxy.fault = ({ method }) => (method === 'HEAD' ? { answer: { status: 403 } } : undefined)
  await t.rejects(provider.stat(at('file'), call()), { code: 'PERMISSION_DENIED' }, 'a refusal without a reason')
})

t.test('errors and their causes contain neither signed text nor tokens', async t => {
  const { proxy, provider } = await behindProxy(t)
  for (const code of ['SignatureDoesNotMatch', 'ExpiredToken']) {
    const body = xml(code, '<Token-0>hidden</Token-0><CanonicalRequest>hidden</CanonicalRequest>')
    proxy.fault = () => ({ answer: { status: 403, body } })
    const error = await provider.list(at(''), { ...call(), limit: 10 }).catch(error => error)
    t.match(error, { code: 'UNAUTHORIZED', cause: { name: code } })
    t.notMatch(inspect(error, { depth: 20, showHidden: true }), /hidden/)
  }
})

atNight(t, 'a batch deletion reports the failure of a single key', async t => {
  const { proxy, provider } = await behindProxy(t)
  await put(provider, 'folder/file', 'kept')
  const body = '<DeleteResult><Error><Key>k</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>'
  proxy.fault = ({ method, url }) =>
    method === 'POST' && url?.includes('delete')
      ? { answer: { status: 200, headers: { 'content-type': 'application/xml' }, body } }
      : undefined
  await t.rejects(provider.deleteTree(at('folder'), call()), { code: 'PERMISSION_DENIED' })
  proxy.fault = undefined
  await has(provider, 'folder/file', 'kept')
})

t.test('wrong credentials are UNAUTHORIZED at the real server', async t => {
  const wrong = { secretAccessKey: 'not the secret' }
  const unknown = { accessKeyId: 'NOBODY' }
  for (const [config, message] of [
    [wrong, /secret access key does not match/],
    [unknown, /does not know the access key ID/],
  ] as const) {
    const provider = await openS3(server, bucket, { config })
    const calls = [
      provider.list(at(''), { ...call(), limit: 10 }),
      provider.stat(at('file'), call()),
      provider.read(at('file'), call()),
      put(provider, 'file', 'x'),
      provider.mkdir(at('folder'), { ...call(), exclusive: true }),
      provider.delete(at('file'), call()),
    ]
    for (const result of await Promise.allSettled<unknown>(calls)) {
      t.match(result, { status: 'rejected', reason: { code: 'UNAUTHORIZED', message } })
    }
  }
})

t.test('a missing bucket is reported, even if it is deleted later', async t => {
  await t.rejects(openS3(server, 'no-such-bucket'), {
    code: 'INVALID_CONFIG',
    message: /There is no bucket "no-such-bucket" at 127\.0\.0\.1:\d+: create it/,
  })
  const gone = await server.newBucket()
  const provider = await openS3(server, gone)
  await server.client.send(new DeleteBucketCommand({ Bucket: gone }))
  const calls = [
    provider.list(at(''), { ...call(), limit: 10 }),
    provider.stat(at('file'), call()),
    provider.read(at('file'), call()),
    put(provider, 'file', 'x'),
  ]
  for (const result of await Promise.allSettled<unknown>(calls)) {
    t.match(result, { status: 'rejected', reason: { code: 'UNAVAILABLE', message: /There is no bucket/ } })
  }
  await server.newBucket()
})

t.test('open refuses the wrong region', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  proxy.fault = () => ({ answer: { status: 301, headers: { 'x-amz-bucket-region': 'ap-south-1' } } })
  await t.rejects(openS3({ ...server, endpoint: proxy.endpoint }, bucket), {
    code: 'INVALID_CONFIG',
    message: /in the region ap-south-1, not in us-east-1: correct the region/,
  })
})

t.test('a clock that is hours off is corrected, even in links', async t => {
  for (const hours of [-5, 5]) {
    const settings = parseConfig(configFor(server, bucket, { prefix: `clock ${hours}` }))
    const own = new Bucket(settings, silentHost, defaultLimits)
    own.raw.config.systemClockOffset = hours * 3_600_000
    const provider = providerOf(own, silentHost, { ...noConditions, put: true })
    await put(provider, 'file', 'content')
    const link = await provider.presign(at('file'), { ...call(), method: 'GET', expiresIn: 60 })
    t.equal(await (await fetch(link?.url ?? '')).text(), 'content')
    await provider.close()
  }
})

t.test('unreachable endpoints are UNAVAILABLE with a reason', async t => {
  const tls = server.endpoint.replace('http:', 'https:')
  for (const [endpoint, message] of [
    ['http://127.0.0.1:9', /127\.0\.0\.1:9 cannot be reached: nothing listens there/],
    ['http://nowhere.invalid', /nowhere\.invalid cannot be reached: (there is no such host|its name)/],
    [tls, /cannot be reached: it does not speak TLS/],
  ] as const) {
    await t.rejects(openS3({ ...server, endpoint }, bucket), { code: 'UNAVAILABLE', message })
  }
})

atNight(t, 'an outage does not switch versions off: the provider opens after it', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  for (const status of [429, 500, 503]) {
    proxy.fault = ({ url }) => (url?.includes('versioning') ? { answer: { status } } : undefined)
    const opening = openS3({ ...server, endpoint: proxy.endpoint }, bucket)
    // Whether the repeats of a 429 take longer than the server has to respond depends on their random pauses.
    await t.rejects(opening, { code: status === 429 ? /^(RATE_LIMITED|UNAVAILABLE)$/ : 'UNAVAILABLE' })
  }
  for (const status of [403, 501]) {
    proxy.fault = ({ url }) => (url?.includes('versioning') ? { answer: { status } } : undefined)
    const provider = await openS3({ ...server, endpoint: proxy.endpoint }, bucket)
    t.equal(provider.versions, undefined, 'a server that refuses to say it keeps none')
    await provider.close?.()
  }
})

atNight(t, 'a provider whose conditions could not be tested works afterwards', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  proxy.fault = ({ headers }) => (headers['if-none-match'] ? { answer: { status: 503 } } : undefined)
  const provider = await openS3({ ...server, endpoint: proxy.endpoint }, bucket)
  let conditions = 0
  proxy.fault = ({ headers }) => {
    if (headers['if-none-match']) conditions += 1
    return undefined
  }
  await put(provider, 'file', 'content')
  t.ok(conditions > 1, 'the conditions are tested before the first write')
})

t.test('an invalid configuration is refused with a reason', async t => {
  const good = configFor(server, bucket)
  for (const endpoint of ['not an address', 'ftp://host', 'https://a:b@host', 'https://host/?x=1', 'https://host/#x']) {
    await t.rejects(s3Adapter.open({ ...good, endpoint }, silentHost), { code: 'INVALID_CONFIG', message: /endpoint/ })
  }
  for (const prefix of ['a//b', '..', 'a/../b', './a', 'a\0b', '\ud800', '//']) {
    await t.rejects(s3Adapter.open({ ...good, prefix }, silentHost), { code: 'INVALID_CONFIG', message: /folder/ })
  }
  t.match(parseConfig({ ...good, prefix: '/a/b/' }), { base: 'a/b/', isAmazon: false, forcePathStyle: true })
  const { endpoint: _, ...amazon } = good
  t.match(parseConfig(amazon), {
    base: '',
    isAmazon: true,
    forcePathStyle: false,
    endpointName: 'Amazon S3 in us-east-1',
  })
  t.equal(parseConfig({ ...good, endpoint: 'https://s3.eu-west-1.amazonaws.com' }).isAmazon, true)
  t.equal(parseConfig({ ...good, endpoint: 'https://amazonaws.com.example.com' }).isAmazon, false)
  const secrets = Object.entries(s3Adapter.configSchema.properties).filter(
    ([, p]) => (p as { writeOnly?: true }).writeOnly,
  )
  t.strictSame(
    secrets.map(([name]) => name),
    ['secretAccessKey', 'sessionToken'],
  )
})

t.test('a write link at Amazon requires no checksum of the unknown body', async t => {
  const { endpoint: _, ...amazon } = configFor(server, 'some-bucket')
  const own = new Bucket(parseConfig(amazon), silentHost, defaultLimits)
  const url = await sign(own, new PutObjectCommand({ Bucket: 'some-bucket', Key: 'a b' }), 10_000_000)
  t.match(url.href, /^https:\/\/some-bucket\.s3\.us-east-1\.amazonaws\.com\/a%20b\?/)
  t.notMatch(url.search, /checksum/)
  t.equal(url.searchParams.get('X-Amz-Expires'), String(7 * 24 * 3600))
  own.close()
})
