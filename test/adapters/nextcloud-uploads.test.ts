/** Tests how the adapter for WebDAV stores files in chunks at Nextcloud and ownCloud, beyond what the conformance kit checks. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { minChunk } from '../../adapters/backends/webdav/upload-folders.ts'
import { chunkSize } from '../../adapters/backends/webdav/write.ts'
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
} from '../../adapters/conformance/kit.ts'
import type { StorageErrorCode, StorageProvider } from '../../adapters/contract.ts'
import type { Kind, Nextcloud } from '../servers/nextcloud/index.ts'
import { atNight, extent, isNight } from '../support/extent.ts'
import { UploadRecord } from './host.ts'
import { openFolder, openWorld } from './nextcloud-world.ts'

const mib = 1024 * 1024
const chunk = { method: 'PUT', path: /\/uploads\// }
const begin = { method: 'MKCOL', path: /\/uploads\// }
const join = { method: 'MOVE', path: /\/\.file$/ }
/** Only the tests of the night send it. */
const large = isNight ? pattern(chunkSize + mib) : Buffer.alloc(0)
/** Its size is unknown to the adapter, so it goes in chunks, too. */
const medium = pattern(17 * mib, 1)

const kinds: Record<string, Kind> = {
  Nextcloud: { vendor: 'Nextcloud' },
  'Nextcloud in S3': { vendor: 'Nextcloud', hasObjectStore: true },
  ownCloud: { vendor: 'ownCloud' },
}

/** Writes a file, and returns what a host would have recorded about it. */
async function write(provider: StorageProvider, path: string, bytes: Buffer, options: { size?: number } = {}) {
  const record = new UploadRecord()
  const more = { ...call(), ...options, overwrite: true, unfinished: record }
  const entry = await provider.write(at(path), bodyOf(bytes), more)
  return { entry, record }
}

/** Returns the requests to the uploads: `PUT 00001 201`. */
function uploadRequests({ faults }: Nextcloud): string[] {
  const found = faults.log.filter(({ url }) => url.includes('/uploads/'))
  return found.map(
    ({ method, url, status }) =>
      `${method} ${url
        .split('/')
        .at(-1)
        ?.replace(/^stowage-.*/, '')} ${status}`,
  )
}

/** Returns the names of files that no listing shows. */
function hidden({ files }: Nextcloud): string[] {
  return [...(files.tree.find('root/.stowage-unfinished')?.children?.keys() ?? [])]
}

function resumableOf({ resumable }: StorageProvider) {
  if (!resumable) throw new Error('no resumable writes')
  return resumable
}

const tried = extent({ gate: ['ownCloud'], nightly: Object.keys(kinds) })

for (const [name, kind] of Object.entries(kinds).filter(([name]) => tried.includes(name))) {
  atNight(
    t,
    `${name}: a large file passes a proxy that accepts less, and replaces another one in one step`,
    async t => {
      const { fake, provider } = await openWorld(t, kind)
      fake.maxRequest = 64 * mib
      const before = await put(provider, 'a/file', 'old')
      fake.faults.clear()
      fake.faults.before({ ...join, run: () => has(provider, 'a/file', 'old') })
      const { entry, record } = await write(provider, 'a/file', large, { size: large.length })
      t.same(uploadRequests(fake), ['MKCOL  201', 'PUT 00001 201', 'PUT 00002 201', 'MOVE .file 204'])
      await has(provider, 'a/file', large)
      t.equal(entry.fileId, before.fileId, 'it is the same file for the server')
      t.not(entry.etag, before.etag)
      t.equal(record.all.length, 1)
      t.equal(record.state, undefined)
      t.equal(fake.uploads.folders.size, 0)
    },
  )

  t.test(`${name}: a file of unknown size goes in chunks from memory`, async t => {
    const { fake, provider } = await openWorld(t, kind)
    for (const size of extent({ gate: [16 * mib + 1], nightly: [32 * mib, 32 * mib + 1] })) {
      fake.faults.clear()
      const bytes = pattern(size)
      await write(provider, `new/${size}`, bytes)
      const count = uploadRequests(fake).filter(request => request.startsWith('PUT')).length
      t.equal(count, Math.ceil(size / (16 * mib)))
      await has(provider, `new/${size}`, bytes)
    }
    t.same(hidden(fake), [])
  })

  t.test(`${name}: bytes of an attempt that nobody continues are not part of the file`, async t => {
    const { provider } = await openWorld(t, kind)
    const resumable = resumableOf(provider)
    const [first, second] = [pattern(minChunk), pattern(minChunk, 7)]
    const append = (state: string, bytes: Buffer, offset: number) =>
      resumable.append(state, bodyOf(bytes), { ...call(), offset, size: bytes.length })
    const end = (state: string, rest: string) =>
      resumable.complete(state, bodyOf(rest), { ...call(), offset: minChunk, size: rest.length, overwrite: false })
    for (const rest of extent({ gate: ['rest'], nightly: ['', 'rest'] })) {
      const begun = await resumable.begin(at(`file ${rest}`), call())
      await append(begun, second, 0)
      const state = await append(begun, first, 0)
      await append(state, second, minChunk)
      await end(state, rest)
      await has(provider, `file ${rest}`, Buffer.concat([first, Buffer.from(rest)]))
    }
  })
}

atNight(t, 'entries have the checksums that the server stores', async t => {
  const expected: Record<string, string[]> = {
    Nextcloud: ['small', 'chunks'],
    'Nextcloud in S3': ['small'],
    ownCloud: ['small', 'streamed', 'chunks', 'resumed'],
  }
  for (const [name, kind] of Object.entries(kinds).slice(extent({ gate: 2, nightly: 0 }))) {
    const { provider } = await openWorld(t, kind)
    const mebibyte = pattern(mib)
    await write(provider, 'small', Buffer.from('small'))
    await write(provider, 'streamed', mebibyte, { size: mib })
    await write(provider, 'chunks', medium)
    const resumable = resumableOf(provider)
    const end = { ...call(), offset: 0, size: mib, overwrite: false }
    await resumable.complete(await resumable.begin(at('resumed'), call()), bodyOf(mebibyte), end)
    for (const path of ['small', 'streamed', 'chunks', 'resumed']) {
      const { checksums } = await provider.stat(at(path), call())
      const sha1 = createHash('sha1')
        .update(await get(provider, path))
        .digest('hex')
      t.equal(checksums?.sha1, expected[name]?.includes(path) ? sha1 : undefined, `${name}: ${path}`)
    }
  }
})

t.test('bytes that change on their way are not stored', async t => {
  const ways = [
    { kind: kinds.Nextcloud, bytes: Buffer.from('small') },
    { kind: kinds.Nextcloud, bytes: medium.subarray(0, mib), size: mib },
    { kind: kinds.Nextcloud, bytes: medium },
    { kind: kinds.ownCloud, bytes: Buffer.from('small') },
    { kind: kinds.ownCloud, bytes: medium },
  ]
  for (const { kind, bytes, ...options } of extent({ gate: ways.slice(0, 1), nightly: ways })) {
    const { fake, provider } = await openWorld(t, kind)
    fake.corruptNext = true
    await rejectsWith('UNAVAILABLE', write(provider, 'made/file', bytes, options))
    t.notOk(fake.corruptNext)
    t.same(await namesIn(provider, ''), [])
    t.same([hidden(fake), fake.uploads.folders.size], [[], 0])
  }
  const { fake, provider } = await openWorld(t)
  const resumable = resumableOf(provider)
  const state = await resumable.begin(at('file'), call())
  fake.corruptNext = true
  const send = () => resumable.append(state, bodyOf(pattern(minChunk)), { ...call(), offset: 0, size: minChunk })
  await rejectsWith('UNAVAILABLE', send())
  const next = await send()
  await resumable.complete(next, bodyOf(''), { ...call(), offset: minChunk, size: 0, overwrite: false })
  await has(provider, 'file', pattern(minChunk))
})

t.test('after a lost response, the file is stored or nothing is left', async t => {
  for (const lost of extent({ gate: [join], nightly: [begin, chunk, join] })) {
    const { fake, provider } = await openWorld(t)
    fake.faults.fail({ ...lost, reason: 'lost', executed: true })
    if (lost === join) fake.faults.fail({ method: 'PROPFIND', path: /\/uploads\//, reason: 'lost' })
    const record = new UploadRecord()
    const options = { ...call(), overwrite: false, unfinished: record }
    const writing = provider.write(at('made/file'), bodyOf(medium), options)
    if (lost === begin) {
      await rejectsWith('UNAVAILABLE', writing)
      t.same(await namesIn(provider, ''), [])
    } else {
      // The chunk is sent again.
      t.equal((await writing).size, medium.length)
      await has(provider, 'made/file', medium)
    }
    t.equal(fake.faults.pending, 0)
    t.same([record.state, hidden(fake), fake.uploads.folders.size], [undefined, [], 0], lost.method)
  }
})

atNight(t, 'a server that joins chunks for longer than a proxy waits is asked once', async t => {
  const { fake, provider } = await openWorld(t)
  await put(provider, 'old', 'old')
  fake.uploads.joinTime = 500
  for (const path of ['new', 'old']) {
    fake.faults.clear()
    await write(provider, path, medium)
    t.equal(fake.faults.count(join), 1)
    await has(provider, path, medium)
  }
  const resumable = resumableOf(provider)
  const state = await resumable.begin(at('made/up'), call())
  fake.faults.clear()
  const end = { ...call(), offset: 0, size: mib, overwrite: false }
  await resumable.complete(state, bodyOf(medium.subarray(0, mib)), end)
  await has(provider, 'made/up', medium.subarray(0, mib))
  t.equal(fake.uploads.folders.size, 0)
})

atNight(t, 'a file that an app of the server refuses is not reported as stored', async t => {
  const { fake, provider } = await openWorld(t)
  const old = pattern(medium.length)
  await put(provider, 'file', old)
  fake.uploads.refusesFiles = true
  const joins = [
    [0, 'PERMISSION_DENIED'],
    [300, 'UNAVAILABLE'],
  ] as const
  for (const [joinTime, code] of joins.slice(extent({ gate: 1, nightly: 0 }))) {
    fake.uploads.joinTime = joinTime
    for (const path of ['file', 'made/new']) await rejectsWith(code, write(provider, path, medium))
  }
  t.same(await namesIn(provider, ''), ['file'])
  await has(provider, 'file', old)
  t.same(hidden(fake), [])
})

t.test('a refused or failed upload keeps the existing file, and leaves nothing else', async t => {
  const cases: [object, string, StorageErrorCode][] = [
    [begin, 'maintenance', 'UNAVAILABLE'],
    [chunk, 'full', 'QUOTA_EXCEEDED'],
    [chunk, 'failure', 'UNAVAILABLE'],
    [join, 'full', 'QUOTA_EXCEEDED'],
    [join, 'failure', 'UNAVAILABLE'],
    // A proxy has given up, and the server never began.
    [join, 'Bad Gateway', 'UNAVAILABLE'],
  ]
  await Promise.all(
    extent({ gate: cases.filter((_, index) => index === 3), nightly: cases }).map(async ([match, reason, code]) => {
      const { fake, provider } = await openWorld(t)
      await put(provider, 'file', 'old')
      for (const path of ['file', 'made/new']) {
        fake.faults.fail({ ...match, reason, times: 1 })
        await rejectsWith(code, write(provider, path, medium))
        t.equal(fake.faults.pending, 0, reason)
      }
      t.same(await namesIn(provider, ''), ['file'])
      await has(provider, 'file', 'old')
      t.same([hidden(fake), fake.uploads.folders.size], [[], 0], reason)
    }),
  )
})

atNight(t, 'a lock that ends soon delays an upload', async t => {
  const { fake, provider } = await openWorld(t)
  for (const match of [chunk, join]) fake.faults.fail({ ...match, reason: 'locked' })
  await write(provider, 'file', medium)
  t.equal(fake.faults.pending, 0)
  await has(provider, 'file', medium)
})

atNight(t, 'Nextcloud refuses a file for its quota before all bytes are sent', async t => {
  const { fake, provider } = await openWorld(t)
  fake.files.quota = large.length - 1
  await rejectsWith('QUOTA_EXCEEDED', write(provider, 'file', large, { size: large.length }))
  t.same(uploadRequests(fake), ['MKCOL  201', 'PUT 00001 507', 'DELETE  204'])
})

atNight(t, 'another server frees what a killed one has left', async t => {
  const { fake, provider } = await openWorld(t)
  const record = new UploadRecord()
  fake.faults.fail({ ...chunk, reason: 'lost', times: Infinity })
  fake.faults.fail({ method: 'DELETE', reason: 'lost', times: Infinity })
  const options = { ...call(), overwrite: false, unfinished: record }
  await rejectsWith('UNAVAILABLE', provider.write(at('file'), bodyOf(medium), options))
  t.equal(fake.uploads.folders.size, 1)
  fake.faults.clear()
  const other = resumableOf(await openFolder(fake, 'root'))
  await other.abort(record.state ?? '', call())
  t.equal(fake.uploads.folders.size, 0)
  await other.abort(record.state ?? '', call())

  fake.faults.fail({ ...begin, reason: 'lost', executed: true })
  fake.faults.fail({ method: 'DELETE', reason: 'lost', times: Infinity })
  await rejectsWith('UNAVAILABLE', resumableOf(provider).begin(at('file'), { ...call(), unfinished: record }))
  fake.faults.clear()
  t.equal(fake.uploads.folders.size, 1)
  await other.abort(record.state ?? '', call())
  t.equal(fake.uploads.folders.size, 0)
})

t.test('an upload that the server has removed is missing, and a wrong offset is refused', async t => {
  const { fake, provider } = await openWorld(t)
  const resumable = resumableOf(provider)
  const begun = await resumable.begin(at('file'), call())
  const part = () => bodyOf(pattern(minChunk))
  const range = { ...call(), offset: 0, size: minChunk }
  const state = await resumable.append(begun, part(), range)
  await rejectsWith('PRECONDITION_FAILED', resumable.append(state, part(), range))
  fake.uploads.folders.clear()
  await rejectsWith('NOT_FOUND', resumable.append(state, part(), { ...range, offset: minChunk }))
  const end = { ...call(), offset: minChunk, size: 4, overwrite: false }
  await rejectsWith('NOT_FOUND', resumable.complete(state, bodyOf('rest'), end))
  await rejectsWith('NOT_FOUND', resumable.append('no state', part(), range))
  await isMissing(provider, 'file')
})

t.test('a file is not stored without a chunk that the server has lost', async t => {
  for (const kind of extent({ gate: [kinds.Nextcloud], nightly: [kinds.Nextcloud, kinds.ownCloud] })) {
    const { fake, provider } = await openWorld(t, kind)
    const resumable = resumableOf(provider)
    const begun = await resumable.begin(at('file'), call())
    const part = { ...call(), offset: 0, size: minChunk }
    const state = await resumable.append(begun, bodyOf(pattern(minChunk)), part)
    for (const { chunks } of fake.uploads.folders.values()) chunks.clear()
    const end = { ...call(), offset: minChunk, size: 4, overwrite: false }
    await rejectsWith('UNAVAILABLE', resumable.complete(state, bodyOf('rest'), end))
    await isMissing(provider, 'file')
  }
})

t.test('a server without uploads in chunks gets each file in one request', async t => {
  const { fake, provider } = await openWorld(t, { vendor: 'ownCloud', hasUploads: false })
  t.equal(provider.resumable, undefined)
  const bytes = extent({ gate: medium, nightly: large })
  await write(provider, 'file', bytes, { size: bytes.length })
  t.same(uploadRequests(fake), [])
  t.equal((await get(provider, 'file')).length, bytes.length)
})
