/** Parts, what an upload leaves, and blobs of other programs. */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { Limits } from '../../adapters/backends/azure-blob/client.ts'
import { maxFileSize } from '../../adapters/backends/azure-blob/uploads.ts'
import {
  at,
  bodyOf,
  call,
  get,
  has,
  isMissing,
  listAll,
  makeFolder,
  namesIn,
  pattern,
  put,
  rejectsWith,
  stalledBody,
} from '../../adapters/conformance/kit.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { withNameRules } from '../../adapters/name-rules.ts'
import { azureServer } from '../servers/azurite.ts'
import { faultProxy } from '../servers/fault-proxy.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { openAzure } from './azure-provider.ts'
import { recordingHost, UploadRecord } from './host.ts'

const mib = 1024 * 1024
const server = await azureServer(t)
const container = await server.newContainer()
const { containerName } = container
const bytes = pattern(3.5 * mib)
const md5 = createHash('md5').update(bytes).digest('hex')

/** Opens a provider whose requests all go through a proxy. */
async function behindProxy(t: Test, limits: Partial<Limits> = {}) {
  const proxy = await faultProxy(t, server.endpoint)
  const endpoint = proxy.endpoint + new URL(server.endpoint).pathname
  const prefix = `proxied ${Math.random()}`
  const provider = await openAzure({ ...server, endpoint }, containerName, { config: { prefix }, limits })
  return { proxy, provider, prefix }
}

async function here(limits: Partial<Limits> = {}) {
  const prefix = `here ${Math.random()}`
  const host = recordingHost()
  const provider = await openAzure(server, containerName, { config: { prefix }, limits, host })
  return { provider, prefix, host, blob: (name: string) => container.getBlockBlobClient(`${prefix}/${name}`) }
}

/** Lists the names of blobs, also of those that have only parts. */
async function blobsIn(prefix: string): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of container.listBlobsFlat({ prefix: `${prefix}/`, includeUncommitedBlobs: true })) {
    names.push(name.slice(prefix.length + 1))
  }
  return names.sort()
}

const stagedIn = async (prefix: string) => (await blobsIn(prefix)).filter(name => name.startsWith('.stowage-upload-'))

function write(provider: StorageProvider, path: string, body: Readable, options: object = {}) {
  return provider.write(at(path), body, { ...call(), overwrite: false, ...options })
}

t.test('a file in parts has the MD5, the type and the time of the whole, and leaves no parts', async t => {
  const { provider, prefix, blob } = await here()
  const record = new UploadRecord()
  const modifiedAt = new Date('2011-12-13T14:15:16.789Z')
  for (const size of [bytes.length, undefined]) {
    const options = { mimeType: 'text/csv', modifiedAt, unfinished: record, overwrite: true, ...(size && { size }) }
    const entry = await write(provider, 'a/file', bodyOf(bytes), options)
    t.match(entry, { size: bytes.length, checksums: { md5 }, mimeType: 'text/csv', modifiedAt })
    t.same(await provider.stat(at('a/file'), call()), entry)
    await has(provider, 'a/file', bytes)
    t.equal(record.state, undefined)
  }
  const { contentMD5, metadata } = await blob('a/file').getProperties()
  t.equal(Buffer.from(contentMD5 ?? []).toString('hex'), md5)
  t.equal(metadata?.mtime, modifiedAt.toISOString(), 'where rclone and other programs find it')
  t.same(await blobsIn(prefix), ['a/file'])
})

atNight(t, 'without memory, parts are streamed', async t => {
  const { provider, prefix } = await here({ partBytes: mib, memoryBytes: mib })
  const entry = await write(provider, 'file', bodyOf(bytes), { size: bytes.length })
  t.same(entry.checksums, { md5 })
  await has(provider, 'file', bytes)
  await rejectsWith('UNAVAILABLE', write(provider, 'short', bodyOf(bytes), { size: bytes.length + 1 }))
  await rejectsWith('UNAVAILABLE', write(provider, 'long', bodyOf(bytes), { size: bytes.length - 1 }))
  await rejectsWith('QUOTA_EXCEEDED', write(provider, 'huge', bodyOf(''), { size: maxFileSize + 1 }))
  t.same(await blobsIn(prefix), ['file'])
})

t.test('a failed or aborted write frees its parts', async t => {
  const { provider, prefix } = await here()
  const record = new UploadRecord()
  const broken = new Error('broken')
  function* pieces() {
    yield bytes
    throw broken
  }
  const options = { unfinished: record, size: 2 * bytes.length }
  await t.rejects(write(provider, 'file', Readable.from(pieces(), { objectMode: false }), options), broken)
  t.equal(record.state, undefined)
  const controller = new AbortController()
  const stalled = write(provider, 'file', stalledBody(bytes), { ...options, signal: controller.signal })
  await until(async () => (await stagedIn(prefix)).length > 0)
  t.ok(record.state, 'the host has a record while parts exist')
  t.same(await namesIn(provider, ''), [], 'the parts are not listed')
  controller.abort(broken)
  await t.rejects(stalled, broken)
  t.equal(record.state, undefined)
  t.same(await blobsIn(prefix), [])
})

atNight(t, 'another server frees what a killed one has left, before and after the parts were joined', async t => {
  const { provider, proxy, prefix } = await behindProxy(t, { backoff: { first: 10, longest: 100, attempts: 1 } })
  for (const isLost of [
    (method = '', url = '') => method === 'PUT' && url.includes('comp=blocklist'),
    (method = '', url = '') => method === 'PUT' && !url.includes('comp='),
  ]) {
    const record = new UploadRecord()
    let isDown = false
    proxy.fault = ({ method, url }) => {
      isDown ||= isLost(method, url)
      return isDown ? { answer: { status: 503 } } : undefined
    }
    await rejectsWith('UNAVAILABLE', write(provider, 'file', bodyOf(bytes), { unfinished: record }))
    proxy.fault = undefined
    t.equal((await stagedIn(prefix)).length, 1)
    t.same(await namesIn(provider, ''), [], 'they are not listed')
    const other = await openAzure(server, containerName, { config: { prefix } })
    await other.resumable.abort(record.state ?? '', call())
    t.same(await blobsIn(prefix), [])
    await other.resumable.abort(record.state ?? '', call())
  }
  for (const state of ['', 'no JSON', '{"id":"../../other"}', '{"id":5}']) await provider.resumable.abort(state, call())
})

atNight(t, 'an upload in several requests survives what others do at its path', async t => {
  const { provider, prefix, blob } = await here()
  const { resumable } = provider
  const part = resumable.partSize
  const begin = await resumable.begin(at('file'), { ...call(), mimeType: 'text/plain' })
  let state = await resumable.append(begin, bodyOf(bytes.subarray(0, part)), { ...call(), offset: 0, size: part })
  await put(provider, 'file', 'of somebody else')
  await blob('file').stageBlock(Buffer.from('x').toString('base64'), 'y', 1)
  state = await resumable.append(state, bodyOf(bytes.subarray(part, 2 * part)), { ...call(), offset: part, size: part })
  const rest = bytes.subarray(2 * part)
  const end = { ...call(), offset: 2 * part, size: rest.length }
  await rejectsWith('ALREADY_EXISTS', resumable.complete(state, bodyOf(rest), { ...end, overwrite: false }))
  const entry = await resumable.complete(state, bodyOf(rest), { ...end, overwrite: true })
  t.match(entry, { size: bytes.length, mimeType: 'text/plain' })
  await has(provider, 'file', bytes)
  t.same(await stagedIn(prefix), [])
  for (const lost of [begin, state]) {
    const whole = { ...call(), offset: JSON.parse(lost).offset, size: 1 }
    await rejectsWith('NOT_FOUND', resumable.append(lost, bodyOf('x'), whole))
  }
  const again = await resumable.begin(at('other'), call())
  await resumable.abort(again, call())
  await rejectsWith('NOT_FOUND', resumable.append(again, bodyOf('x'), { ...call(), offset: 0, size: 1 }))
  t.same(await stagedIn(prefix), [])
})

atNight(t, 'requests whose responses are lost take effect once', async t => {
  const { provider, proxy, prefix } = await behindProxy(t)
  const lose = (matches: (method: string, url: string) => boolean) => {
    let times = 1
    proxy.fault = ({ method = '', url = '' }) => (matches(method, url) && times-- > 0 ? 'lose answer' : undefined)
  }
  lose(method => method === 'PUT')
  t.match(await put(provider, 'small', 'content'), { size: 7 })
  lose((method, url) => method === 'PUT' && url.includes('comp=block&'))
  await put(provider, 'large', bytes)
  lose((method, url) => method === 'PUT' && url.includes('comp=blocklist'))
  await put(provider, 'large 2', bytes)
  lose((method, url) => method === 'PUT' && !url.includes('comp='))
  t.match(await put(provider, 'large 3', bytes), { size: bytes.length, checksums: { md5 } })
  lose(method => method === 'PUT')
  await provider.copy(at('large'), at('copy'), { ...call(), overwrite: false })
  for (const path of ['large', 'large 2', 'large 3', 'copy']) await has(provider, path, bytes)
  lose(method => method === 'DELETE')
  await provider.delete(at('copy'), call())
  await rejectsWith('ALREADY_EXISTS', put(provider, 'small', 'content'))
  t.same(await blobsIn(prefix), ['large', 'large 2', 'large 3', 'small'])
})

t.test('bytes that change on their way are not stored', async t => {
  const { provider, proxy, prefix } = await behindProxy(t)
  proxy.fault = ({ method }) =>
    method === 'PUT' ? { answer: { status: 400, headers: { 'x-ms-error-code': 'Md5Mismatch' } } } : undefined
  await t.rejects(put(provider, 'small', 'content'), { code: 'UNAVAILABLE', message: /damaged/ })
  await t.rejects(put(provider, 'large', bytes), { code: 'UNAVAILABLE', message: /damaged/ })
  let sent = 0
  proxy.fault = ({ headers, url = '' }) => {
    if (headers['content-md5']) sent += url.includes('comp=block') ? 1 : 100
    return undefined
  }
  await put(provider, 'small', 'content')
  await put(provider, 'large', bytes)
  t.equal(sent, 102, 'the file and each of the two parts are sent with an MD5')
  t.same(await stagedIn(prefix), [])
})

atNight(t, 'a read whose connection breaks continues at the same byte', async t => {
  const { provider, proxy } = await behindProxy(t, { idleTime: 1000 })
  await put(provider, 'file', bytes)
  for (const range of [undefined, { offset: 1000, length: mib }]) {
    const asked: (string | undefined)[] = []
    proxy.fault = ({ method, headers }) => {
      if (method !== 'GET') return undefined
      asked.push(headers['if-match'])
      if (asked.length === 2) return { stallAnswerAfter: 100_000 }
      return asked.length <= 3 ? { cutAnswerAfter: 100_000 } : undefined
    }
    const expected = bytes.subarray(range?.offset ?? 0, range && range.offset + range.length)
    t.ok((await get(provider, 'file', range)).equals(expected))
    t.equal(asked.length, 4)
    t.ok(asked.slice(1).every(Boolean), 'only the same version is read')
  }
})

t.test('files of other programs', async t => {
  const { provider, blob, host } = await here()
  const zipped = gzipSync('content '.repeat(1000))
  await blob('zipped').upload(zipped, zipped.length, { blobHTTPHeaders: { blobContentEncoding: 'gzip' } })
  await has(provider, 'zipped', zipped)
  t.ok((await get(provider, 'zipped', { offset: 10, length: 20 })).equals(zipped.subarray(10, 30)))

  const time = '2020-01-02T03:04:05.123456789Z'
  await blob('timed').upload('x', 1, { metadata: { mtime: time, Other: 'kept' } })
  await blob('untimed').upload('x', 1, { metadata: { Owner: 'kept' }, blobHTTPHeaders: { blobContentType: 'a/b' } })
  t.same((await provider.stat(at('timed'), call())).modifiedAt, new Date('2020-01-02T03:04:05.123Z'))
  const untimed = await provider.stat(at('untimed'), call())
  for (const name of ['timed', 'untimed']) {
    const copied = await provider.copy(at(name), at(`${name} copy`), { ...call(), overwrite: false })
    t.same(await provider.stat(at(`${name} copy`), call()), copied)
    const { metadata } = await blob(`${name} copy`).getProperties()
    t.ok(Object.values(metadata ?? {}).includes('kept'), 'a copy keeps all metadata')
  }
  const copied = await provider.stat(at('untimed copy'), call())
  t.same([copied.modifiedAt, copied.mimeType], [untimed.modifiedAt, 'a/b'])

  await container.getAppendBlobClient(blob('appended').name).create()
  await has(provider, 'appended', '')
  await blob('snapped').upload('x', 1)
  await blob('snapped').createSnapshot()
  await t.rejects(provider.delete(at('snapped'), call()), { code: 'PERMISSION_DENIED', message: /snapshots/ })
  await blob('leased').upload('x', 1)
  const lease = blob('leased').getBlobLeaseClient()
  await lease.acquireLease(15)
  await t.rejects(put(provider, 'leased', 'y', true), { code: 'IN_USE', message: /lease/ })
  await t.rejects(provider.delete(at('leased'), call()), { code: 'IN_USE', message: /lease/ })
  await has(provider, 'leased', 'x')
  t.same(host.warnings, [])
})

atNight(t, 'folders of other programs, and what they hide', async t => {
  const { provider, prefix, blob, host } = await here()
  const mark = { metadata: { hdi_isFolder: 'True' } }
  await blob('marked').upload('', 0, mark)
  await blob('marked/file').upload('x', 1)
  await blob('empty').upload('', 0, mark)
  await blob('slash/').upload('', 0)
  await blob('implied/deep/file').upload('x', 1)
  const folders = ['empty', 'implied', 'marked', 'slash']
  const kinds = async () => (await listAll(provider, '')).map(({ name, kind }) => `${name} ${kind}`).sort()
  t.same(
    await kinds(),
    folders.map(name => `${name} directory`),
  )
  for (const name of folders) {
    t.equal((await provider.stat(at(name), call())).kind, 'directory', name)
    await rejectsWith('NOT_A_FILE', get(provider, name))
    await rejectsWith('NOT_A_FILE', get(provider, name, { offset: 0, length: 1 }))
    await rejectsWith('NOT_A_FILE', put(provider, name, 'x', true))
    await rejectsWith('ALREADY_EXISTS', put(provider, name, 'x'))
    await rejectsWith('ALREADY_EXISTS', makeFolder(provider, name, true))
    await makeFolder(provider, name)
  }
  t.same(await namesIn(provider, 'slash'), [])
  for (const name of ['marked', 'implied']) await rejectsWith('NOT_EMPTY', provider.delete(at(name), call()))
  for (const name of ['empty', 'slash']) await provider.delete(at(name), call())
  await provider.deleteTree(at('marked'), call())
  t.same(await kinds(), ['implied directory'])
  await provider.delete(at('implied/deep/file'), call())
  t.same(await namesIn(provider, 'implied'), ['deep'], 'a folder stays when its last entry is deleted')
  await provider.deleteTree(at('implied'), call())

  // A file hides the folder of its name, on whatever page the two are.
  for (const name of ['a', 'a!', 'a"', 'a/below', 'a-', 'b!', 'b/below']) await blob(name).upload('x', 1)
  await blob('b').upload('', 0, mark)
  for (const limit of [1, 2, 3, 5, 1000]) {
    const listed = (await listAll(provider, '', limit)).map(({ name, kind }) => `${name} ${kind}`)
    t.same(listed.sort(), ['a file', 'a! file', 'a" file', 'a- file', 'b directory', 'b! file'], `pages of ${limit}`)
  }
  t.match(host.warnings[0], { message: /same name as a file/, details: { example: 'a' } })
  await has(provider, 'a/below', 'x')
  await provider.deleteTree(at('a'), call())
  await isMissing(provider, 'a!/x')
  t.ok((await blobsIn(prefix)).includes('a/below'), 'deleting the file keeps what it hid')
})

t.test('names that Azure would change are refused before anything is sent', async t => {
  const { provider: adapter, prefix } = await here()
  const provider = withNameRules(adapter)
  const names = [
    'a.',
    'a\\b',
    'a\nb',
    'a\u0085b',
    'a\u007f',
    'a\ue000',
    `.stowage-upload-${'0'.repeat(36)}`,
    'c'.repeat(1024),
  ]
  for (const name of names) {
    for (const path of [name, `folder/${name}`, `${name}/file`]) {
      await rejectsWith('INVALID_PATH', put(provider, path, 'x'))
      await rejectsWith('INVALID_PATH', makeFolder(provider, path))
    }
  }
  t.same(await blobsIn(prefix), [])
  await put(provider, '~.stowage-upload-', 'x')
  await put(provider, `${'d/'.repeat(200)}file`, 'x')
  await rejectsWith('INVALID_PATH', put(provider, `${'d/'.repeat(260)}file`, 'x'))
})
