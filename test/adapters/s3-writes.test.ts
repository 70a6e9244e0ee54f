import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { HeadObjectCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { allConditions, Bucket, defaultLimits, type Limits } from '../../adapters/backends/s3/client.ts'
import { parseConfig } from '../../adapters/backends/s3/config.ts'
import { providerOf } from '../../adapters/backends/s3/provider.ts'
import { maxFileSize } from '../../adapters/backends/s3/uploads.ts'
import { BodyReader, maxParts, planParts } from '../../adapters/bases/objects/parts.ts'
import {
  at,
  bodyOf,
  call,
  get,
  has,
  isMissing,
  namesIn,
  pattern,
  put,
  rejectsWith,
  stalledBody,
} from '../../adapters/conformance/kit.ts'
import type { StorageProvider, Unfinished } from '../../adapters/contract.ts'
import { type FaultProxy, faultProxy } from '../servers/fault-proxy.ts'
import { s3Server } from '../servers/radosgw.ts'
import { atNight, extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { silentHost } from './host.ts'
import { configFor, openS3, smallParts } from './s3-provider.ts'

t.setTimeout(300_000)

const mib = 1024 * 1024
const server = await s3Server(t)
const bucket = await server.newBucket()
const reason = new Error('the client went away')

async function uploads(): Promise<number> {
  const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
  return Uploads.length
}

const xml = (code: string) => `<Error><Code>${code}</Code></Error>`

/** A known size, because parts are twice as long for an unknown size. */
const announced = { size: 20 * mib }

function write(provider: StorageProvider, path: string, body: Readable, options: object = {}) {
  return provider.write(at(path), body, { ...call(), overwrite: false, ...announced, ...options })
}

async function openBehind(proxy: FaultProxy, limits: Partial<Limits> = smallParts) {
  // A separate bucket, so that the conditions are tested through the proxy.
  return await openS3({ ...server, endpoint: proxy.endpoint }, await server.newBucket(), { limits })
}

t.test('an upload that is aborted or fails leaves no parts', async t => {
  const provider = await openS3(server, bucket, { limits: smallParts })
  const bytes = pattern(17 * mib)
  for (const path of extent({ gate: ['made/up/new'], nightly: ['new', 'made/up/new'] })) {
    const controller = new AbortController()
    const body = stalledBody(bytes)
    const writing = write(provider, path, body, { signal: controller.signal })
    await until(async () => (await uploads()) > 0)
    controller.abort(reason)
    await t.rejects(writing, reason)
    t.ok(body.destroyed)
    t.equal(await uploads(), 0)
  }
  const broken = new Error('read ECONNRESET')
  async function* pieces() {
    yield bytes
    await until(async () => (await uploads()) > 0)
    throw broken
  }
  await t.rejects(write(provider, 'new', Readable.from(pieces())), broken)
  t.equal(await uploads(), 0)
  t.strictSame(await namesIn(provider, ''), [])
})

atNight(t, 'an upload that the host cannot record, or whose client disconnected, is aborted', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  const provider = await openS3({ ...server, endpoint: proxy.endpoint }, bucket, { limits: smallParts })
  const calls: string[] = []
  const unfinished: Unfinished = {
    async began() {
      calls.push('began')
    },
    async ended() {
      calls.push('ended')
    },
  }
  await t.test('at a server that is busy', async t => {
    const away = new Error('the database is down')
    // The host records that an upload begins, but cannot record its id.
    const began = async (state: string) => {
      if (JSON.parse(state).id !== undefined) throw away
    }
    let refused = 0
    proxy.fault = ({ method }) => {
      // One attempt more than the S3 client makes by itself.
      if (method !== 'DELETE' || refused++ > 4) return undefined
      return { answer: { status: 503, body: xml('SlowDown') } }
    }
    const body = Readable.from(Buffer.alloc(announced.size))
    await t.rejects(write(provider, 'new', body, { unfinished: { ...unfinished, began } }), away)
    t.ok(refused > 4)
    t.equal(await uploads(), 0)
    t.same(calls.splice(0), ['ended'], 'the host can drop its record')
  })
  await t.test('while it begins', async t => {
    const controller = new AbortController()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    proxy.fault = ({ method, url }) => {
      return method === 'POST' && url?.includes('uploads') ? { answerAfter: released } : undefined
    }
    const body = stalledBody(Buffer.alloc(17 * mib))
    const writing = write(provider, 'new', body, { signal: controller.signal, unfinished })
    await until(async () => (await uploads()) > 0)
    controller.abort(reason)
    t.same(calls, ['began'])
    release()
    await t.rejects(writing, reason)
    t.equal(await uploads(), 0)
    t.same(calls, ['began', 'began', 'ended'])
  })
})

atNight(t, 'an upload is aborted only after all its parts have ended', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  const provider = await openBehind(proxy, { ...smallParts, copyBytes: 6 * mib, copyPartBytes: 5 * mib })
  await put(provider, 'source', pattern(11 * mib))
  const changes: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
    write: signal => write(provider, 'file', bodyOf(pattern(17 * mib)), { signal }),
    'write of streamed parts': async signal => {
      const flowing = await openBehind(proxy, { partBytes: 5 * mib, memoryBytes: 6 * mib })
      await write(flowing, 'file', bodyOf(pattern(17 * mib)), { signal })
    },
    copy: signal => provider.copy(at('source'), at('file'), { signal, overwrite: true }),
  }
  for (const [what, change] of Object.entries(changes)) {
    const events: string[] = []
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    proxy.fault = ({ method, url }) => {
      if (method === 'DELETE' && url?.includes('uploadId')) events.push('given up')
      if (method !== 'PUT' || !url?.includes('/file?partNumber=1')) return undefined
      begin()
      return { answerAfter: answered }
    }
    const controller = new AbortController()
    const changing = change(controller.signal)
    await begun
    setTimeout(() => controller.abort(reason), 300)
    setTimeout(() => {
      events.push('answered')
      answer()
    }, 600)
    await t.rejects(changing, reason, what)
    t.strictSame(events, ['answered', 'given up'], what)
  }
  proxy.fault = undefined
})

atNight(
  t,
  'one of several concurrent large writes with overwrite: false succeeds, and no other parts remain',
  async t => {
    const provider = await openS3(server, bucket, { limits: smallParts })
    const contents = Array.from({ length: extent({ gate: 3, nightly: 6 }) }, (_, i) => pattern(6 * mib, i))
    const results = await Promise.allSettled(contents.map(bytes => write(provider, 'file', bodyOf(bytes))))
    const winners = results.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []))
    t.equal(winners.length, 1)
    for (const result of results) if (result.status === 'rejected') t.match(result.reason, { code: 'ALREADY_EXISTS' })
    await has(provider, 'file', contents[winners[0] ?? 0] ?? '')
    t.equal(await uploads(), 0)
  },
)

atNight(t, 'a part whose connection breaks is sent again, and repeated breaks leave nothing', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  const provider = await openBehind(proxy)
  let cut = 0
  proxy.fault = ({ url, method }) =>
    method === 'PUT' && url?.includes('partNumber=2') && cut++ < 2 ? { cutRequestAfter: 2 * mib } : undefined
  const bytes = pattern(12 * mib)
  t.match(await write(provider, 'file', bodyOf(bytes)), { size: bytes.length })
  await has(provider, 'file', bytes)
  t.equal(cut, 3)

  proxy.fault = ({ url }) => (url?.includes('partNumber=2') ? { cutRequestAfter: mib } : undefined)
  const endless = stalledBody(bytes)
  await t.rejects(write(provider, 'other', endless), { code: 'UNAVAILABLE', message: /closed the connection/ })
  t.ok(endless.destroyed, 'the rest of the body is not awaited')
  proxy.fault = undefined
  t.strictSame(await namesIn(provider, ''), ['file'])
  t.equal(await uploads(), 0)
})

atNight(t, 'a write whose response was lost succeeds', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  const provider = await openBehind(proxy)
  const loseOne = (wanted: (request: { url?: string | undefined; method?: string | undefined }) => boolean) => {
    let lost = 0
    proxy.fault = request => (wanted(request) && lost++ === 0 ? 'lose answer' : undefined)
    return () => lost
  }
  const small = loseOne(({ method }) => method === 'PUT')
  t.match(await write(provider, 'small', bodyOf('small')), { size: 5 })
  t.ok(small() > 1, 'the part was sent again')
  const complete = loseOne(({ method, url }) => method === 'POST' && Boolean(url?.includes('uploadId')))
  t.match(await write(provider, 'completed', bodyOf(pattern(6 * mib, 1))), { size: 6 * mib })
  t.ok(complete() > 1)
  proxy.fault = undefined
  await has(provider, 'small', 'small')
  await has(provider, 'completed', pattern(6 * mib, 1))
  await rejectsWith('ALREADY_EXISTS', put(provider, 'small', 'small'))
})

atNight(t, 'a refused repetition after a lost response counts as a success', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  const { endpoint } = proxy
  const settings = parseConfig(configFor({ ...server, endpoint }, await server.newBucket()))
  // This provider assumes a server like Amazon, which checks conditions in every request.
  const provider = providerOf(
    new Bucket(settings, silentHost, { ...defaultLimits, ...smallParts }),
    silentHost,
    allConditions,
  )
  t.teardown(() => provider.close())
  let completed = 0
  proxy.fault = ({ method, url }) => {
    if (method !== 'POST' || !url?.includes('uploadId')) return undefined
    completed += 1
    return completed === 1 ? 'lose answer' : { answer: { status: 412, body: xml('PreconditionFailed') } }
  }
  t.match(await write(provider, 'file', bodyOf(pattern(6 * mib))), { size: 6 * mib })
  t.equal(completed, 2)
  completed = 1
  await rejectsWith('ALREADY_EXISTS', write(provider, 'file', bodyOf(pattern(6 * mib))))
})

t.test('resumable uploads', async t => {
  atNight(t, 'an append with parts too long to buffer is streamed', async t => {
    const limits = { partBytes: 5 * mib, memoryBytes: 6 * mib }
    const provider = await openS3(server, bucket, { limits })
    const { resumable } = provider
    const bytes = pattern(16 * mib)
    let state = await resumable.begin(at('file'), call())
    const first = bytes.subarray(0, 10 * mib)
    const options = { ...call(), offset: 0, size: first.length }
    await t.rejects(resumable.append(state, bodyOf(first), { ...options, size: 15 * mib }), { code: 'UNAVAILABLE' })
    state = await resumable.append(state, bodyOf(first), options)
    const rest = bytes.subarray(10 * mib)
    const end = { ...call(), offset: 10 * mib, size: rest.length, overwrite: false }
    await t.rejects(resumable.complete(state, bodyOf(rest), { ...end, size: rest.length + 1 }), { code: 'UNAVAILABLE' })
    await resumable.complete(state, bodyOf(rest), end)
    await has(provider, 'file', bytes)
  })

  t.test('an empty file is stored even if its upload cannot be aborted', async t => {
    const proxy = await faultProxy(t, server.endpoint)
    const provider = await openBehind(proxy)
    const state = await provider.resumable.begin(at('file'), call())
    proxy.fault = ({ method }) =>
      method === 'DELETE' ? { answer: { status: 403, body: xml('AccessDenied') } } : undefined
    const end = { ...call(), offset: 0, size: 0, overwrite: false }
    t.match(await provider.resumable.complete(state, bodyOf(''), end), { size: 0 })
    proxy.fault = undefined
    await provider.resumable.abort(state, call())
  })
})

t.test('a write whose last step fails stores nothing', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  const provider = await openBehind(proxy)
  proxy.fault = ({ method, url }) =>
    method === 'POST' && url?.includes('uploadId') ? { answer: { status: 403, body: xml('AccessDenied') } } : undefined
  await rejectsWith('PERMISSION_DENIED', write(provider, 'file', bodyOf(pattern(6 * mib))))
  proxy.fault = undefined
  await isMissing(provider, 'file')
  t.strictSame(await namesIn(provider, ''), [])
})

t.test('a file that the back end stored incompletely is removed and reported', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  const provider = await openBehind(proxy)
  // The etag of a small file shows that it is complete.
  const content = pattern(2 * mib)
  const headers = { etag: `"${createHash('md5').update(content).digest('hex')}"`, 'content-length': '3' }
  proxy.fault = ({ method, url }) =>
    method === 'HEAD' && url?.endsWith('/file') ? { answer: { status: 200, headers } } : undefined
  const message = /stored 3 of 2097152 bytes/
  await t.rejects(put(provider, 'file', content, true), { code: 'UNAVAILABLE', message })
  proxy.fault = undefined
  await isMissing(provider, 'file')
})

t.test('small files take one request each, once the folders beside them are known', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  const provider = await openBehind(proxy)
  await put(provider, 'folder/1', 'content')
  await put(provider, 'folder/2', 'content')
  const requests: string[] = []
  proxy.fault = ({ method }) => {
    requests.push(method ?? '')
    return undefined
  }
  const { etag, size, checksums } = await put(provider, 'folder/3', 'content')
  t.strictSame(requests.splice(0), ['PUT'])
  t.match(await provider.stat(at('folder/3'), call()), { etag, size, checksums })
  requests.length = 0
  t.equal((await get(provider, 'folder/3')).toString(), 'content')
  t.strictSame(requests.splice(0), ['GET'])
  await provider.copy(at('folder/3'), at('folder/4'), { ...call(), overwrite: true })
  t.strictSame(requests.splice(0), ['HEAD', 'PUT'])
  await has(provider, 'folder/4', 'content')
  const { entries } = await provider.list(at('folder'), { ...call(), limit: 10 })
  const entry = entries.find(({ name }) => name === '3')
  t.ok(entry)
  requests.length = 0
  await provider.copy(at('folder/3'), at('folder/4'), { ...call(), overwrite: true, ...(entry && { entry }) })
  t.strictSame(requests.splice(0), ['PUT'], 'the entry of a listing saves the HEAD')

  // A folder that is made beside them is noticed, however it is made.
  await provider.mkdir(at('folder/5'), { ...call(), exclusive: true })
  await rejectsWith('ALREADY_EXISTS', put(provider, 'folder/5', 'no'))
  await put(provider, 'folder/6/below', 'content')
  await rejectsWith('NOT_A_FILE', put(provider, 'folder/6', 'no', true))
  await provider.deleteTree(at('folder/6'), call())
  await put(provider, 'folder/6', 'a file now')
  await has(provider, 'folder/6', 'a file now')
})

atNight(t, 'a write without overwrite replaces no file at a server without conditions', async t => {
  const proxy = await faultProxy(t, server.endpoint)
  proxy.fault = ({ headers }) => (headers['if-none-match'] ? { answer: { status: 501 } } : undefined)
  const provider = await openBehind(proxy)
  for (const bytes of [pattern(10), pattern(6 * mib)]) {
    const path = `file ${bytes.length}`
    await put(provider, path, bytes)
    await rejectsWith('ALREADY_EXISTS', put(provider, path, 'no'))
    await has(provider, path, bytes)
    await provider.copy(at(path), at('copied'), { ...call(), overwrite: true })
    await rejectsWith('ALREADY_EXISTS', provider.copy(at(path), at('copied'), { ...call(), overwrite: false }))
  }
  await provider.mkdir(at('folder'), { ...call(), exclusive: true })
  await rejectsWith('ALREADY_EXISTS', provider.mkdir(at('folder'), { ...call(), exclusive: true }))
})

atNight(t, 'parts too long to buffer are streamed and must have the announced size', async t => {
  const limits = { partBytes: 5 * mib, memoryBytes: 6 * mib }
  const provider = await openS3(server, bucket, { limits })
  const bytes = pattern(11 * mib)
  t.match(await write(provider, 'file', bodyOf(bytes), { size: bytes.length }), { size: bytes.length })
  await has(provider, 'file', bytes)
  for (const size of [bytes.length - 1, bytes.length + 1, bytes.length + 8 * mib]) {
    const body = bodyOf(bytes)
    await t.rejects(write(provider, 'other', body, { size }), {
      code: 'UNAVAILABLE',
      message: /announced size/,
    })
    t.ok(body.destroyed)
  }
  const controller = new AbortController()
  const stalled = write(provider, 'other', stalledBody(bytes), { size: 20 * mib, signal: controller.signal })
  await until(async () => (await uploads()) > 0)
  controller.abort(reason)
  await t.rejects(stalled, reason)
  t.strictSame(await namesIn(provider, ''), ['file'])
  t.equal(await uploads(), 0)
})

t.test('every file size is split into a valid number of parts in bounded memory', async t => {
  const sizes = [0, 1, 8 * mib, 100 * 1024 * mib, 200 * 1024 * mib, maxFileSize - 1, maxFileSize, undefined]
  for (const size of sizes) {
    const { partBytes, atOnce } = planParts(size, defaultLimits)
    t.ok(partBytes * maxParts >= (size ?? 150 * 1024 * mib), `${size}: ${partBytes}`)
    t.ok(partBytes >= 5 * mib && partBytes <= 5 * 1024 * mib)
    t.ok(atOnce === 0 || (atOnce + 1) * partBytes <= defaultLimits.memoryBytes)
  }
})

t.test('chunks of any size are joined into whole parts', async t => {
  const bytes = pattern(1000)
  for (const piece of [1, 7, 99, 100, 101, 250, 1000]) {
    const flow = new BodyReader(bodyOf(bytes, piece))
    const target = Buffer.alloc(100)
    const parts: Buffer[] = []
    const lengths: number[] = []
    for (let length = 100; length === 100; ) {
      length = await flow.fill(target)
      lengths.push(length)
      parts.push(Buffer.from(target.subarray(0, length)))
    }
    t.strictSame(lengths, [...Array.from({ length: 10 }, () => 100), 0], `${piece}`)
    t.ok(Buffer.concat(parts).equals(bytes))
  }
})

atNight(t, 'writes share the memory for parts, and slow writes do not block others forever', async t => {
  const provider = await openS3(server, bucket, { limits: smallParts })
  const bytes = pattern(12 * mib)
  const all = Array.from({ length: 12 }, (_, i) => {
    const size = i % 2 === 0 ? { size: bytes.length } : { size: undefined }
    return write(provider, `file ${i}`, bodyOf(bytes), size)
  })
  for (const entry of await Promise.all(all)) t.match(entry, { size: bytes.length })
  await has(provider, 'file 0', bytes)
  await has(provider, 'file 1', bytes)

  // Use all memory, then start writes that wait for it.
  const slow = Array.from({ length: 8 }, (_, i) => {
    const controller = new AbortController()
    const body = stalledBody(pattern(mib))
    const writing = write(provider, `slow ${i}`, body, { size: undefined, signal: controller.signal })
    return { writing, abort: () => controller.abort(reason) }
  })
  t.match(await write(provider, 'known', bodyOf(bytes), { size: bytes.length }), { size: bytes.length })
  await has(provider, 'known', bytes)
  const small = write(provider, 'unknown', bodyOf('small'), { size: undefined })
  const shortWait = await openS3(server, bucket, { limits: { ...smallParts, memoryTime: 100 } })
  const noMemory = { code: 'UNAVAILABLE', message: /send the size \(Content-Length\)/ }
  const refused = bodyOf('refused')
  await t.rejects(write(shortWait, 'refused', refused, { size: undefined }), noMemory)
  t.ok(refused.destroyed)
  for (const { writing, abort } of slow.reverse()) {
    abort()
    await t.rejects(writing, reason)
  }
  t.match(await small, { size: 5 })
  t.equal(await uploads(), 0)
})

t.test('copies', async t => {
  atNight(t, 'a copy in parts keeps the metadata', async t => {
    const limits = { ...smallParts, copyBytes: 6 * mib, copyPartBytes: 5 * mib }
    const provider = await openS3(server, bucket, { limits })
    const bytes = pattern(11 * mib)
    await write(provider, 'from/a+b é', bodyOf(bytes), { mimeType: 'video/mp4' })
    const copied = await provider.copy(at('from/a+b é'), at('to/file'), { ...call(), overwrite: false })
    t.match(copied, { name: 'file', size: bytes.length, mimeType: 'video/mp4' })
    t.strictSame(copied, await provider.stat(at('to/file'), call()))
    await has(provider, 'to/file', bytes)
    await rejectsWith('ALREADY_EXISTS', provider.copy(at('from/a+b é'), at('to/file'), { ...call(), overwrite: false }))
    const copies = [1, 2, 3, 4].map(() => provider.copy(at('to/file'), at('raced'), { ...call(), overwrite: false }))
    const results = await Promise.allSettled(copies)
    t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    t.equal(await uploads(), 0)
  })

  atNight(t, 'an aborted copy leaves nothing', async t => {
    const proxy = await faultProxy(t, server.endpoint)
    const provider = await openBehind(proxy, { ...smallParts, copyBytes: 6 * mib, copyPartBytes: 5 * mib })
    await put(provider, 'file', pattern(11 * mib))
    const controller = new AbortController()
    proxy.fault = ({ headers, url }) => {
      if (!headers['x-amz-copy-source'] || !url?.includes('partNumber=3')) return undefined
      setImmediate(() => controller.abort(reason))
      return 'stall'
    }
    const copying = provider.copy(at('file'), at('copy'), { signal: controller.signal, overwrite: false })
    await t.rejects(copying, reason)
    proxy.fault = undefined
    t.strictSame(await namesIn(provider, ''), ['file'])
  })

  atNight(t, 'a copy of a file that is replaced fails', async t => {
    const proxy = await faultProxy(t, server.endpoint)
    const provider = await openBehind(proxy)
    await put(provider, 'file', 'old')
    proxy.fault = ({ headers }) => (headers['x-amz-copy-source'] ? { answer: { status: 412 } } : undefined)
    for (const overwrite of [true, false]) {
      const copying = provider.copy(at('file'), at('copy'), { ...call(), overwrite })
      await t.rejects(copying, { code: 'UNAVAILABLE', message: /changed while it was copied/ })
    }
    proxy.fault = undefined
    t.strictSame(await namesIn(provider, ''), ['file'])
  })

  t.test('a copy of a file onto itself changes nothing', async t => {
    const provider = await openS3(server, bucket)
    await put(provider, 'file', 'kept')
    const written = await provider.stat(at('file'), call())
    await rejectsWith('ALREADY_EXISTS', provider.copy(at('file'), at('file'), { ...call(), overwrite: false }))
    t.strictSame(await provider.copy(at('file'), at('file'), { ...call(), overwrite: true }), written)
    t.equal((await get(provider, 'file')).toString(), 'kept')
  })
})

atNight(t, 'a copy has the time of its source in its metadata, as rclone stores it', async t => {
  const provider = await openS3(server, bucket, { limits: smallParts, config: { prefix: 'times' } })
  const modifiedAt = new Date('2001-02-03T04:05:06.789Z')
  const timeOf = async (path: string) =>
    (await server.client.send(new HeadObjectCommand({ Bucket: bucket, Key: `times/${path}` }))).Metadata?.mtime
  for (const [path, size] of [
    ['small', 10],
    ['large', 17 * mib],
  ] as const) {
    await write(provider, path, bodyOf(pattern(size)), { size, modifiedAt })
    const { modifiedAt: shown } = await provider.stat(at(path), call())
    t.equal(await timeOf(path), '981173106.789', path)
    t.ok(Math.abs(Number(shown) - Date.now()) < 60_000, 'entries show the time of the write')
    await provider.copy(at(path), at(`${path} copy`), { ...call(), overwrite: false })
    t.equal(await timeOf(`${path} copy`), '981173106.789', 'a copy inside the bucket keeps it')
  }
  await write(provider, 'none', bodyOf('x'), { size: 1 })
  t.equal(await timeOf('none'), undefined)
})
