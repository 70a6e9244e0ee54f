import { Readable } from 'node:stream'
import t from 'tap'
import {
  type AdapterDefinition,
  apiVersion,
  type Entry,
  type Host,
  StorageError,
  type StorageProvider,
} from '../../adapters/contract.ts'
import { startHttp } from './server.ts'
import { head, talk } from './socket.ts'

const text = '0123456789'

const entry = (more: Partial<Entry> = {}): Entry => ({
  name: '',
  kind: 'file',
  size: text.length,
  modifiedAt: null,
  etag: 'one',
  mimeType: null,
  ...more,
})

/** A back end that has the same file at every path and reads it with `read`. */
function backEnd(type: string, file: Partial<Entry>, read: StorageProvider['read']): AdapterDefinition {
  const refuse = async () => {
    throw new StorageError('PERMISSION_DENIED', 'Nothing can be changed here.')
  }
  const provider: StorageProvider = {
    traits: { emptyDirectories: true },
    stat: async () => entry(file),
    list: async () => ({ entries: [] }),
    read,
    write: async (_path, body) => {
      body.destroy()
      return refuse()
    },
    delete: refuse,
    mkdir: refuse,
  }
  return {
    type,
    apiVersion,
    title: type,
    configSchema: { type: 'object', properties: {} },
    open: async () => provider,
  }
}

let reads = 0
const adapters = [
  backEnd('unknown-size', { size: null }, async () => ({ body: Readable.from([text]), entry: entry({ size: null }) })),
  backEnd('too-short', {}, async () => ({ body: Readable.from([text.slice(1)]), entry: entry() })),
  backEnd('too-long', {}, async () => ({ body: Readable.from([text, text]), entry: entry() })),
  backEnd('broken', {}, async () => ({
    body: Readable.from(
      (async function* () {
        yield text.slice(1)
        throw new Error('a secret of the back end')
      })(),
    ),
    entry: entry(),
  })),
  backEnd('busy', {}, async () => {
    throw new StorageError('RATE_LIMITED', 'The service asks to wait.', { retryAfterMs: 1500 })
  }),
  backEnd('gone', {}, async () => {
    throw new TypeError('a secret of the adapter')
  }),
  backEnd('changed-once', {}, async () => {
    reads++
    if (reads === 1) throw new StorageError('PRECONDITION_FAILED', 'Changed.')
    return { body: Readable.from([text]), entry: entry() }
  }),
  backEnd('changing', {}, async () => ({ body: Readable.from([text]), entry: entry({ etag: 'two' }) })),
  backEnd('odd-type', { mimeType: 'text/plain; x=\u0007é' }, async () => ({
    body: Readable.from([text]),
    entry: entry(),
  })),
]

t.test('a back end that is slow, fails or sends wrong bytes never looks like a success', async t => {
  const server = await startHttp(t, { adapters })
  const address = (type: string) => server.downloadUrl('/file', { providerId: server.others.get(type) ?? 'none' })
  const get = (type: string, headers: object = {}) =>
    fetch(address(type), { headers: { ...server.authorization, ...headers } })

  const unknown = await get('unknown-size', { range: 'bytes=0-1' })
  t.match([unknown.status, await unknown.text()], [200, text])
  t.equal(unknown.headers.get('accept-ranges'), 'none')
  t.equal(unknown.headers.get('content-length'), null)

  for (const type of ['too-short', 'too-long', 'broken']) {
    const client = await talk(server.port)
    await client.send(head('GET', address(type), server.authorization))
    await client.ended
    const [heads = '', body = ''] = client.received().split('\r\n\r\n')
    t.match(heads, /^HTTP\/1\.1 200 [\s\S]*content-length: 10/i, type)
    t.ok(body.length < 10 || type === 'too-long', `${type}: the response is visibly incomplete`)
    t.ok(body.length <= 10, type)
  }

  const busy = await get('busy')
  t.match([busy.status, busy.headers.get('retry-after')], [503, '2'])
  t.match(await busy.json(), { errors: [{ extensions: { reason: 'BACK_END_RATE_LIMITED', retryAfterMs: 1500 } }] })
  const gone = await get('gone')
  const body = await gone.text()
  t.match([gone.status, body], [502, /BACK_END_FAULT/])
  t.notMatch(body, 'secret')
  t.match(server.logs.join(''), 'a secret of the adapter')

  t.equal(await (await get('changed-once')).text(), text)
  t.equal(reads, 2)
  // A condition needs the entry before the content, so the two can differ.
  const changing = await get('changing', { 'if-match': '"one"' })
  t.match([changing.status, changing.headers.get('retry-after')], [503, /^\d+$/])
  t.equal((await get('odd-type')).headers.get('content-type'), 'application/octet-stream')
  t.equal(
    (await fetch(address('gone'), { method: 'HEAD', headers: server.authorization })).status,
    200,
    'HEAD reads nothing',
  )
})

t.test('a download takes one call of the back end, unless the response depends on the entry', async t => {
  const calls: unknown[] = []
  const modifiedAt = new Date('2026-01-02T03:04:05Z')
  const counted = backEnd('counted', {}, async (_path, { range }) => {
    calls.push(range ?? 'all')
    const { offset = 0, length = text.length } = range ?? {}
    if (offset >= text.length) throw new StorageError('RANGE_NOT_SATISFIABLE', 'Past the end.')
    return { body: Readable.from([text.slice(offset, offset + length)]), entry: entry({ modifiedAt }) }
  })
  const open = async () => ({
    ...(await counted.open({}, {} as Host)),
    stat: async () => {
      calls.push('stat')
      return entry({ modifiedAt })
    },
  })
  const server = await startHttp(t, { adapters: [{ ...counted, open }] })
  const url = server.downloadUrl('/file', { providerId: server.others.get('counted') ?? 'none' })
  const get = async (headers: object, method = 'GET') => {
    calls.length = 0
    const response = await fetch(url, { method, headers: { ...server.authorization, ...headers } })
    return [response.status, await response.text(), ...calls]
  }
  t.strictSame(await get({}), [200, text, 'all'])
  t.strictSame(await get({ range: 'bytes=2-4' }), [206, '234', { offset: 2, length: 3 }])
  t.strictSame(await get({ range: 'bytes=7-' }), [206, '789', { offset: 7 }])
  t.strictSame(await get({ range: 'bytes=8-99' }), [206, '89', { offset: 8, length: 92 }])
  t.strictSame(await get({ range: 'bytes=4-2' }), [200, text, 'stat', { offset: 0, length: 10 }])
  t.strictSame(await get({ range: 'bytes=-3' }), [206, '789', 'stat', { offset: 7, length: 3 }])
  t.match(await get({ range: 'bytes=10-' }), [416, /RANGE_NOT_SATISFIABLE/, { offset: 10 }, 'stat'])
  t.strictSame(await get({ 'if-none-match': '"one"' }), [304, '', 'stat'])
  t.strictSame(await get({ 'if-modified-since': modifiedAt.toUTCString() }), [304, '', 'stat'])
  t.match(await get({ 'if-match': '"two"' }), [412, /./, 'stat'])
  t.strictSame(await get({}, 'HEAD'), [200, '', 'stat'])
})

t.test('the client sees why a back end refused an upload of any size', async t => {
  const server = await startHttp(t, { adapters: adapters.slice(0, 1) })
  const url = server.uploadUrl('/file', {
    providerId: server.others.get('unknown-size') ?? 'none',
    conflict: 'replace',
  })
  const client = await talk(server.port)
  await client.send(head('POST', url, { 'Content-Length': 100_000_000, ...server.authorization }))
  await client.send(Buffer.alloc(200_000))
  await client.until(/^HTTP\/1\.1 403 [\s\S]*BACK_END_REFUSED/)
  t.equal(await client.ended, false)
  t.equal(server.app.transfers.size, 0)
})
