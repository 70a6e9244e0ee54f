import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import t from 'tap'
import { chunkSize } from '../../adapters/backends/google-drive/upload.ts'
import { usualTimeouts } from '../../adapters/bases/cloud/repeat.ts'
import { at, bodyOf, call, get, has, namesIn, put, rejectsWith, stalledBody } from '../../adapters/conformance/kit.ts'
import { atNight, extent } from '../support/extent.ts'
import { openWorld } from './google-drive-world.ts'

const kib256 = 256 * 1024
const reason = new Error('the client went away')

t.test('a dropped upload continues from the bytes that Drive has', async t => {
  const { provider, fake } = await openWorld(t)
  const bytes = randomBytes(2 * chunkSize + 12_345)
  const places = [kib256 + 1, 1, kib256 - 1, kib256, chunkSize - 1]
  for (const dropAfter of extent({ gate: places.slice(0, 1), nightly: places })) {
    fake.faults.clear()
    fake.uploads.dropAfter = dropAfter
    await put(provider, 'file', bytes, true)
    t.ok((await get(provider, 'file')).equals(bytes), `dropped after ${dropAfter} bytes`)
    t.equal(fake.uploads.dropAfter, undefined, 'it was dropped')
    const stands = Math.floor(dropAfter / kib256) * kib256
    const ranges = fake.faults.log.filter(({ method }) => method === 'PUT').map(({ contentRange }) => contentRange)
    t.strictSame(ranges, [
      `bytes 0-${chunkSize - 1}/*`,
      'bytes */*',
      `bytes ${stands}-${chunkSize - 1}/*`,
      `bytes ${chunkSize}-${2 * chunkSize - 1}/*`,
      `bytes ${2 * chunkSize}-${bytes.length - 1}/${bytes.length}`,
    ])
  }
})

atNight(t, 'an upload survives repeated drops of each chunk', async t => {
  const { provider, fake } = await openWorld(t)
  const bytes = randomBytes(3 * chunkSize)
  async function* pieces() {
    for (let start = 0; start < bytes.length; start += 999_983) {
      fake.uploads.dropAfter = 3 * kib256
      yield bytes.subarray(start, start + 999_983)
    }
  }
  await provider.write(at('file'), Readable.from(pieces()), { ...call(), overwrite: false, size: bytes.length })
  t.ok((await get(provider, 'file')).equals(bytes))
})

t.test('a lost response is checked, so no file is created twice', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  for (const size of extent({ gate: [10], nightly: [10, 2 * chunkSize + 5] })) {
    const bytes = randomBytes(size)
    for (const match of [
      { method: 'POST', path: /upload/ },
      { method: 'PUT', path: /upload_id/ },
    ]) {
      for (const path of [`new ${size} ${match.method}`, 'over']) {
        fake.faults.fail({ ...match, reason: 'lost', executed: true })
        await put(provider, path, bytes, true)
        t.ok((await get(provider, path)).equals(bytes))
        fake.faults.clear()
      }
    }
  }
  fake.faults.fail({ method: 'POST', path: /drive\/v3\/files\?/, reason: 'lost', executed: true })
  await put(provider, 'folder/file', 'content')
  t.strictSame(await namesIn(provider, ''), [...new Set(await namesIn(provider, ''))])
  t.equal(fake.store.childrenOf(rootId).filter(item => item.name === 'folder').length, 1)
})

atNight(t, 'temporary errors at any point of an upload are retried', async t => {
  const places = [
    { size: 10, path: /generateIds/ },
    { size: 10, path: /uploadType=multipart/, method: 'POST' },
    { size: 10, path: /name = / },
    { size: chunkSize + 5, path: /uploadType=resumable/, method: 'POST' },
    { size: chunkSize + 5, path: /upload_id/, method: 'PUT' },
  ]
  const reasons = ['userRateLimitExceeded', 'backendError', 'lost']
  for (const [index, { size, ...place }] of extent({
    gate: [...places.entries()].slice(2, 4),
    nightly: [...places.entries()],
  })) {
    const bytes = randomBytes(size)
    for (const reason of extent({ gate: reasons.filter((_, n) => n === index % 3), nightly: reasons })) {
      const { provider, fake } = await openWorld(t)
      fake.faults.fail({ ...place, reason, times: 2 })
      await put(provider, 'folder/file', bytes)
      t.equal(fake.faults.pending, 0, `${place.path} failed with ${reason}`)
      t.ok((await get(provider, 'folder/file')).equals(bytes))
    }
  }
})

atNight(t, 'a short Retry-After is respected, a long one is returned', async t => {
  const { provider, fake } = await openWorld(t)
  await put(provider, 'file', 'content')
  fake.faults.fail({ reason: 'userRateLimitExceeded', retryAfter: 1, path: /files/ })
  const begun = performance.now()
  await has(provider, 'file', 'content')
  t.ok(performance.now() - begun >= 999, 'no earlier request')
  fake.faults.clear()
  fake.faults.fail({ reason: 'rateLimitExceeded', status: 429, retryAfter: 120, path: /files/, times: 100 })
  const told = await provider.stat(at('file'), call()).catch(error => error)
  t.match(told, { code: 'RATE_LIMITED', retryAfterMs: 120_000 })
  t.equal(fake.faults.log.length, 1)
  fake.faults.clear()
  fake.faults.fail({ reason: 'userRateLimitExceeded', path: /files/, times: 100 })
  t.match(await provider.stat(at('file'), call()).catch(error => error), { code: 'RATE_LIMITED', retryAfterMs: Number })
  t.equal(fake.faults.log.length, 6, 'the number of attempts is bounded')
  fake.faults.clear()
  fake.faults.fail({ reason: 'userRateLimitExceeded', method: 'PUT', path: /upload_id/, times: Infinity })
  await rejectsWith('RATE_LIMITED', put(provider, 'large', randomBytes(chunkSize + 1)))
  t.equal(fake.faults.count({ method: 'PUT' }), 6, 'the same holds for the chunks of an upload')
  fake.faults.clear()
  fake.faults.fail({ reason: 'dailyLimitExceeded', path: /files/, times: 100 })
  await rejectsWith('RATE_LIMITED', provider.stat(at('file'), call()))
  t.equal(fake.faults.log.length, 1, 'a daily limit is not retried')
})

t.test('requests that are not repeatable are not repeated', async t => {
  const { provider, fake } = await openWorld(t)
  await put(provider, 'file', 'content')
  fake.faults.clear()
  fake.faults.fail({ method: 'PATCH', reason: 'backendError', status: 503, times: 100 })
  const move = provider.move?.(at('file'), at('folder/moved'), { ...call(), overwrite: false })
  await rejectsWith('UNAVAILABLE', Promise.resolve(move))
  t.equal(fake.faults.count({ method: 'PATCH', path: /addParents/ }), 1)
  fake.faults.clear()
  await has(provider, 'file', 'content')
})

t.test('an upload that is aborted, or whose body fails, leaves no session, no file and no folder', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  await put(provider, 'file', 'kept')
  for (const path of ['made/up/new', 'file']) {
    const controller = new AbortController()
    const body = stalledBody(randomBytes(chunkSize + kib256))
    const write = provider.write(at(path), body, { signal: controller.signal, overwrite: true })
    const begun = Promise.withResolvers<void>()
    fake.faults.before({ method: 'PUT', path: /upload_id/, run: begun.resolve })
    await begun.promise
    controller.abort(reason)
    await t.rejects(write, reason)
    t.ok(body.destroyed)

    const broken = new Error('broken')
    async function* pieces() {
      yield randomBytes(2 * chunkSize)
      throw broken
    }
    const failing = provider.write(at(path), Readable.from(pieces()), { ...call(), overwrite: true })
    await t.rejects(failing, broken)
  }
  t.equal(fake.uploads.openSessions, 0)
  t.strictSame(await namesIn(provider, ''), ['file'])
  await has(provider, 'file', 'kept')
  t.strictSame(fake.store.childrenOf(rootId).filter(item => !item.explicitlyTrashed).length, 1)
})

atNight(t, 'a file whose creation was never confirmed is deleted', async t => {
  const { provider, fake } = await openWorld(t)
  await put(provider, 'source', 'content')
  const write = (size: number) => (path: string, signal: AbortSignal) =>
    provider.write(at(path), bodyOf(randomBytes(size)), { signal, overwrite: false })
  const calls = [
    { last: { method: 'POST', path: /uploadType=multipart/ }, call: write(10) },
    { last: { method: 'PUT', path: /upload_id/ }, skip: 1, call: write(chunkSize + 1) },
    { last: { method: 'POST', path: /v3\/files\?/ }, call: write(10) },
    {
      last: { method: 'POST', path: /copy/ },
      call: async (path: string, signal: AbortSignal) =>
        provider.copy?.(at('source'), at(path), { signal, overwrite: false }),
    },
  ]
  for (const { last, skip = 0, call } of calls) {
    const controller = new AbortController()
    const lose = () => {
      fake.faults.fail({ ...last, reason: 'lost', executed: true })
      fake.faults.before({ ...last, run: () => controller.abort(reason) })
    }
    fake.faults.before({ ...last, run: skip ? () => fake.faults.before({ ...last, run: lose }) : lose })
    await t.rejects(call('made/new', controller.signal), reason, `${last.path}`)
    fake.faults.clear()
    t.strictSame(await namesIn(provider, ''), ['source'], `${last.path}`)
  }
  const last = { method: 'PUT', path: /upload_id/ }
  const lose = () => fake.faults.fail({ ...last, reason: 'lost', executed: true, times: Infinity })
  fake.faults.before({ ...last, run: () => fake.faults.before({ ...last, run: lose }) })
  await rejectsWith('UNAVAILABLE', put(provider, 'made/new', randomBytes(chunkSize + 1)))
  t.strictSame(await namesIn(provider, ''), ['source'])
})

t.test('a folder of a failed upload does not stay in the cache', async t => {
  const { provider, fake } = await openWorld(t, { options: { trust: 600_000 } })
  fake.faults.fail({ method: 'POST', path: /upload/, reason: 'badRequest' })
  await rejectsWith('UNAVAILABLE', put(provider, 'made/up/new', 'no'))
  await rejectsWith('NOT_FOUND', provider.list(at('made'), { ...call(), limit: 10 }))
  await rejectsWith('NOT_FOUND', provider.stat(at('made/up'), call()))
})

t.test('a wrong size hint does no harm, and a file too large for the account is refused before it is sent', async t => {
  const { provider, fake } = await openWorld(t)
  const bytes = randomBytes(chunkSize + 100)
  for (const size of extent({ gate: [1], nightly: [1, bytes.length * 2] })) {
    await provider.write(at('file'), bodyOf(bytes), { ...call(), size, overwrite: true })
    t.ok((await get(provider, 'file')).equals(bytes))
  }
  fake.store.storageLimit = bytes.length + 1000
  const begun = fake.faults.count({ path: /resumable/ })
  const write = provider.write(at('new/file'), bodyOf(bytes), { ...call(), size: bytes.length, overwrite: false })
  await rejectsWith('QUOTA_EXCEEDED', write)
  t.equal(fake.faults.count({ path: /resumable/ }), begun, 'nothing was sent')
  t.strictSame(await namesIn(provider, ''), ['file'])
})

atNight(t, 'an upload whose session expired fails and leaves nothing', async t => {
  const { provider, fake } = await openWorld(t)
  let puts = 0
  const expire = () => {
    puts += 1
    if (puts === 2) fake.uploads.expireSessions()
    else fake.faults.before({ method: 'PUT', path: /upload_id/, run: expire })
  }
  fake.faults.before({ method: 'PUT', path: /upload_id/, run: expire })
  await rejectsWith('UNAVAILABLE', put(provider, 'folder/file', randomBytes(3 * chunkSize)))
  t.equal(puts, 2)
  t.strictSame(await namesIn(provider, ''), [])
})

t.test('errors and their causes contain neither session URLs nor bytes', async t => {
  const { provider, fake } = await openWorld(t)
  for (const reason of extent({ gate: ['lost'], nightly: ['badRequest', 'lost', 'backendError'] })) {
    fake.faults.clear()
    fake.faults.fail({ method: 'PUT', path: /upload_id/, reason, times: 100 })
    const error = await put(provider, 'file', randomBytes(chunkSize + 1)).catch(error => error)
    t.equal(error.code, 'UNAVAILABLE')
    t.ok(error.cause, 'the log gets the cause')
    t.notMatch(inspect(error, { depth: 20, showHidden: true }), /upload_id=|Bearer|<Buffer|ya29/)
  }
})

t.test('a download that breaks off ends with an error', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  fake.addFile(rootId, 'file', randomBytes(1_000_000))
  fake.cutDownloadAfter = 300_000
  await t.rejects(get(provider, 'file'))
})

atNight(t, 'a download that stalls ends with an error; one whose reader is slow does not', async t => {
  const { provider, fake, rootId } = await openWorld(t, { options: { timeouts: { ...usualTimeouts, stall: 50 } } })
  const bytes = randomBytes(1_000_000)
  fake.addFile(rootId, 'file', bytes)
  fake.cutIsStall = true
  fake.cutDownloadAfter = 300_000
  await rejectsWith('UNAVAILABLE', get(provider, 'file'))
  const { body } = await provider.read(at('file'), call())
  await delay(300)
  t.ok((await buffer(body)).equals(bytes))
})

t.test('a file with a type of Google is not converted to a document', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  const mimeType = 'application/vnd.google-apps.document'
  const entry = await provider.write(at('file'), bodyOf('content'), { ...call(), mimeType, overwrite: false })
  t.equal(entry.size, 7)
  t.equal(entry.mimeType, 'application/octet-stream')
  t.equal(fake.store.childrenOf(rootId)[0]?.content?.size, 7)
})

t.test('ifMatch never returns bytes that were replaced before the download', async t => {
  const { provider, fake, rootId } = await openWorld(t)
  const item = fake.addFile(rootId, 'file', 'first!')
  const { etag, checksums } = await provider.stat(at('file'), call())
  t.match(checksums, { md5: /^[0-9a-f]{32}$/, sha1: /^[0-9a-f]{40}$/, sha256: /^[0-9a-f]{64}$/ })
  fake.faults.before({
    path: /alt=media/,
    run: () =>
      fake.store.setContent(item, { ...(fake.addFile(fake.rootId, 'x', 'second').content ?? item.content ?? fail()) }),
  })
  await rejectsWith('PRECONDITION_FAILED', provider.read(at('file'), { ...call(), ifMatch: etag ?? '' }))
  t.not((await provider.stat(at('file'), call())).etag, etag)
  fake.store.rename(item, 'renamed')
  t.equal((await provider.stat(at('renamed'), call())).etag, (await provider.stat(at('renamed'), call())).etag)
})

function fail(): never {
  throw new Error('no content')
}
