import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, readdir, readlink, utimes, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import t from 'tap'
import { maxRanges, parseRange } from '../../src/http/content/conditions.ts'
import { contentDisposition, contentType } from '../../src/services/files/index.ts'
import { extent } from '../support/extent.ts'
import { type HttpServer, startHttp, testOrigin } from './server.ts'
import { eventually } from './socket.ts'

const content = Buffer.from(Array.from({ length: 5000 }, (_, index) => index % 251))

async function put(server: HttpServer, path: string, body: Buffer | string, providerId = server.local, type = '') {
  const response = await fetch(server.uploadUrl(path, { providerId, conflict: 'replace' }), {
    method: 'POST',
    body: typeof body === 'string' ? Buffer.from(body) : new Uint8Array(body),
    headers: { ...server.authorization, ...(type && { 'content-type': type }) },
  })
  if (response.status !== 201) throw new Error(await response.text())
  return (await response.json()) as { etag: string; modifiedAt: string }
}

async function reasonOf(response: Response): Promise<string> {
  const { errors } = (await response.json()) as { errors: { extensions: { reason: string } }[] }
  return errors[0]?.extensions.reason ?? 'none'
}

/** Parses multipart/byteranges; each `range` is `first-last/size`. */
function partsOf(body: Buffer, type: string): { range: string; bytes: Buffer }[] {
  const boundary = /boundary=(\S+)/.exec(type)?.[1] ?? 'none'
  const text = body.toString('latin1')
  const pieces = text.split(`\r\n--${boundary}`)
  if (pieces[0] !== '' || pieces.at(-1) !== '--\r\n') throw new Error('The boundaries are wrong')
  return pieces.slice(1, -1).map(piece => {
    const [heads = '', ...rest] = piece.split('\r\n\r\n')
    return {
      range: /Content-Range: bytes (\S+)/.exec(heads)?.[1] ?? 'none',
      bytes: Buffer.from(rest.join('\r\n\r\n'), 'latin1'),
    }
  })
}

t.test('any range is served, from disk and from a stream', async t => {
  const server = await startHttp(t)
  const spec = fc.oneof(
    fc.tuple(fc.nat(6000), fc.nat(6000)).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    fc.nat(6000).map(from => `${from}-`),
    fc.nat(6000).map(length => `-${length}`),
  )
  const ranges = fc.array(spec, { minLength: 1, maxLength: maxRanges + 1 }).map(specs => `bytes=${specs.join(', ')}`)
  for (const providerId of [server.local, server.memory]) {
    await put(server, '/file.bin', content, providerId)
    const url = server.downloadUrl('/file.bin', { providerId })
    await fc.assert(
      fc.asyncProperty(ranges, async range => {
        const response = await fetch(url, { headers: { ...server.authorization, range } })
        const body = Buffer.from(await response.arrayBuffer())
        const expected = parseRange(range, content.length)
        if (response.status !== 416 && Number(response.headers.get('content-length')) !== body.length) return false
        if (expected.kind === 'whole') return response.status === 200 && body.equals(content)
        if (expected.kind === 'unsatisfiable') {
          return response.status === 416 && response.headers.get('content-range') === 'bytes */5000'
        }
        const wanted = expected.spans.map(({ first, last }) => ({
          range: `${first}-${last}/5000`,
          bytes: content.subarray(first, last + 1),
        }))
        const type = response.headers.get('content-type') ?? ''
        const single = [{ range: response.headers.get('content-range')?.replace('bytes ', '') ?? 'none', bytes: body }]
        const got = wanted.length === 1 ? single : partsOf(body, type)
        return (
          response.status === 206 &&
          got.length === wanted.length &&
          got.every(({ range, bytes }, index) => range === wanted[index]?.range && bytes.equals(wanted[index].bytes))
        )
      }),
      { numRuns: extent({ gate: 8, nightly: 60 }) },
    )
  }
})

t.test('files of sizes around the buffer sizes arrive whole', async t => {
  const server = await startHttp(t)
  const kib = 1024
  const around = [0, 1, 16 * kib, 32 * kib, 64 * kib, 1024 * kib, 2048 * kib, 5000 * kib]
  const sizes = extent({ gate: [0, 64 * kib, 2048 * kib], nightly: around }).flatMap(size => [
    Math.max(0, size - 1),
    size,
    size + 1,
  ])
  for (const size of new Set(sizes)) {
    const bytes = Buffer.alloc(size, `${size}!`)
    await writeFile(join(server.folder, 'sized'), bytes)
    const response = await fetch(server.downloadUrl('/sized'), asOwner(server))
    const got = Buffer.from(await response.arrayBuffer())
    t.ok(response.status === 200 && got.equals(bytes), `${size} bytes`)
    if (size === 0) {
      const empty = await fetch(server.downloadUrl('/sized'), asOwner(server, { range: 'bytes=0-' }))
      t.match([empty.status, empty.headers.get('content-range')], [416, 'bytes */0'])
      t.equal((await fetch(server.downloadUrl('/sized'), asOwner(server, { range: 'bytes=-5' }))).status, 200)
    }
  }
})

function asOwner({ authorization }: HttpServer, headers: Record<string, string> = {}) {
  return { headers: { ...authorization, ...headers } }
}

t.test('conditional requests follow RFC 9110', async t => {
  const server = await startHttp(t)
  await put(server, '/file.bin', content)
  const modifiedAt = new Date('2026-01-02T03:04:05.678Z')
  await utimes(join(server.folder, 'file.bin'), modifiedAt, modifiedAt)
  const url = server.downloadUrl('/file.bin')
  const { headers } = await fetch(url, asOwner(server))
  const etag = headers.get('etag') ?? 'none'
  const own = 'Fri, 02 Jan 2026 03:04:05 GMT'
  t.equal(headers.get('last-modified'), own)
  const earlier = 'Fri, 02 Jan 2026 03:04:04 GMT'
  const later = 'Fri, 02 Jan 2026 03:04:06 GMT'
  /** The expected status, by the steps of RFC 9110, section 13.2.2. */
  const values = {
    'if-match': [
      [etag, true],
      [`"x", ${etag}`, true],
      ['*', true],
      [`W/${etag}`, false],
      ['"x"', false],
    ],
    'if-unmodified-since': [
      [own, true],
      [later, true],
      [earlier, false],
      ['nonsense', true],
    ],
    'if-none-match': [
      [etag, false],
      [`"x", W/${etag}`, false],
      ['*', false],
      ['"x"', true],
    ],
    'if-modified-since': [
      [own, false],
      [later, false],
      [earlier, true],
      ['nonsense', true],
    ],
  } as const
  const option = (name: keyof typeof values) => fc.constantFrom(undefined, ...values[name])
  const conditions = fc.record({
    'if-match': option('if-match'),
    'if-unmodified-since': option('if-unmodified-since'),
    'if-none-match': option('if-none-match'),
    'if-modified-since': option('if-modified-since'),
    range: fc.constantFrom(undefined, ['bytes=0-9', true] as const),
    method: fc.constantFrom('GET', 'HEAD'),
  })
  await fc.assert(
    fc.asyncProperty(conditions, async ({ method, ...given }) => {
      const holds = (name: keyof typeof given) => given[name]?.[1] ?? true
      const sent = Object.entries(given).flatMap(([name, value]) => (value ? [[name, value[0]]] : []))
      const response = await fetch(url, { method, ...asOwner(server, Object.fromEntries(sent)) })
      await response.arrayBuffer()
      const isFirstMet = given['if-match'] ? holds('if-match') : holds('if-unmodified-since')
      const isNew = given['if-none-match'] ? holds('if-none-match') : holds('if-modified-since')
      const found = given.range && method === 'GET' ? 206 : 200
      return response.status === (isFirstMet ? (isNew ? found : 304) : 412)
    }),
    { numRuns: extent({ gate: 20, nightly: 150 }) },
  )
  const notModified = await fetch(url, asOwner(server, { 'if-none-match': etag }))
  t.equal(notModified.headers.get('etag'), etag, '304 carries the validators')
  t.equal(notModified.headers.get('last-modified'), own)

  const ifRange = async (value: string) =>
    (await fetch(url, asOwner(server, { range: 'bytes=0-9', 'if-range': value }))).status
  t.equal(await ifRange(etag), 206)
  t.equal(await ifRange(own), 206)
  for (const value of [`W/${etag}`, '"x"', earlier, later, 'nonsense', '*']) t.equal(await ifRange(value), 200, value)
  const secondOf = (time: Date) => Math.floor(time.getTime() / 1000)
  let now: Date
  let status: number
  do {
    now = new Date()
    await utimes(join(server.folder, 'file.bin'), now, now)
    status = await ifRange(now.toUTCString())
    // A response of the next second shows nothing.
  } while (secondOf(new Date()) !== secondOf(now))
  t.equal(status, 200, 'a date of the current second cannot distinguish two versions')
})

t.test('browsers get a safe name and type, and show only safe types inline', async t => {
  const server = await startHttp(t)
  const disposition = async (path: string, more: Record<string, string> = {}) => {
    const response = await fetch(server.downloadUrl(path, { providerId: server.memory, ...more }), asOwner(server))
    await response.arrayBuffer()
    t.equal(response.headers.get('x-content-type-options'), 'nosniff')
    const type = response.headers.get('content-type')
    const isPdf = type === 'application/pdf'
    t.equal(
      response.headers.get('content-security-policy'),
      isPdf ? "default-src 'none'; frame-ancestors 'self'" : 'sandbox',
    )
    return [type, response.headers.get('content-disposition')]
  }
  const names = {
    '/naïve.txt': `attachment; filename="na?ve.txt"; filename*=UTF-8''na%C3%AFve.txt`,
    '/"quoted".txt': 'attachment; filename="\\"quoted\\".txt"',
    '/日本.txt': `attachment; filename="??.txt"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.txt`,
    '/100 %.txt': 'attachment; filename="100 %.txt"',
  }
  for (const [path, expected] of Object.entries(names)) {
    await put(server, path, 'x', server.memory)
    const [, got] = await disposition(path)
    t.match(got?.replace(/ï/g, '?'), expected, path)
  }
  await writeFile(join(server.folder, 'line\nbreak\u0085.txt'), 'x')
  const broken = await fetch(server.downloadUrl('/line\nbreak\u0085.txt'), asOwner(server))
  t.match([broken.status, broken.headers.get('content-disposition')], [200, /line_break_\.txt/])

  const shown = ['image/png', 'image/jpeg', 'video/mp4', 'audio/ogg', 'text/plain; charset=utf-8', 'application/pdf']
  const saved = ['text/html', 'image/svg+xml', 'IMAGE/SVG+XML', 'application/xhtml+xml', 'text/xml', 'application/json']
  for (const type of [...shown, ...saved]) {
    await put(server, '/typed', 'x', server.memory, type)
    const [got, how] = await disposition('/typed', { disposition: 'inline' })
    t.equal(got, type)
    t.equal(how?.split(';')[0], shown.includes(type) ? 'inline' : 'attachment', type)
    t.match((await disposition('/typed'))[1], /^attachment/)
  }
  // Browsers read the text after a comma as the type.
  for (const type of [
    'text/plain; a=b, text/html',
    'text/plain;,text/html',
    'image/png; a="b" , text/html',
    'text/plain; a',
  ]) {
    await t.rejects(put(server, '/typed', '<script>', server.memory, type), /INVALID_INPUT/, type)
    t.equal(contentType(type), 'application/octet-stream', 'a malformed type from a back end is replaced')
    t.match(contentDisposition({ name: 'typed', mimeType: type }, true), /^attachment/)
  }
  const wrong = await fetch(server.downloadUrl('/typed', { disposition: 'show' }), asOwner(server))
  t.equal(await reasonOf(wrong), 'INVALID_INPUT')
})

t.test('a link works without a header until its session ends', async t => {
  const server = await startHttp(t)
  await put(server, '/page.txt', 'hello')
  const { services } = server
  const viewer = await services.credentials.authenticate(server.token, testOrigin)
  const location = { providerId: server.local, path: '/page.txt' }
  const link = (ticket: string, more = '') => fetch(`${server.url}/api/download/proxy?ticket=${ticket}${more}`)
  const ticket = services.files.link(viewer, location, { expiresIn: 60, inline: true })
  const response = await link(ticket)
  t.match([response.status, await response.text()], [200, 'hello'])
  t.match(response.headers.get('content-disposition'), /^inline/)
  t.equal(response.headers.get('cross-origin-resource-policy'), 'cross-origin')
  t.match((await link(ticket, '&disposition=attachment')).headers.get('content-disposition'), /^attachment/)
  t.equal((await link(ticket, '&path=/other')).status, 400)
  const named = (name: string, query: string) => fetch(`${server.url}/api/download/proxy/${name}?${query}`)
  for (const name of ['page.txt', encodeURIComponent('ü'.repeat(127)), 'another%2Fname']) {
    t.equal(await (await named(name, `ticket=${ticket}`)).text(), 'hello', 'a name after the path changes nothing')
  }
  t.equal(await reasonOf(await named('page.txt', `ticket=${ticket}&providerId=${server.local}`)), 'INVALID_INPUT')
  t.equal(await reasonOf(await named('page.txt', '')), 'INVALID_INPUT')
  t.equal((await named('a/b', `ticket=${ticket}`)).status, 404)
  const [payload = '', signature = ''] = ticket.split('.')
  const changed = await link(`${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`)
  t.match([changed.status, changed.headers.get('www-authenticate')], [401, 'Bearer'])
  t.equal(await reasonOf(changed), 'LINK_EXPIRED')
  await services.accounts.logout(viewer)
  t.equal(await reasonOf(await link(ticket)), 'LINK_EXPIRED')
  t.notMatch(server.logs.join(''), ticket.slice(0, 40), 'tickets stay out of the log')
  t.match(server.logs.join(''), 'ticket=[redacted]')
})

t.test('a refused download names its reason', async t => {
  const server = await startHttp(t)
  await mkdir(join(server.folder, 'folder'))
  const ask = async (url: string, init: RequestInit = asOwner(server)) => {
    const response = await fetch(url, init)
    return [response.status, await reasonOf(response)]
  }
  const base = `${server.url}/api/download/proxy`
  t.same(await ask(server.downloadUrl('/x'), {}), [401, 'CREDENTIAL_REQUIRED'])
  t.same(await ask(base, {}), [401, 'CREDENTIAL_REQUIRED'])
  t.same(await ask(base), [400, 'INVALID_INPUT'])
  t.same(await ask(`${base}?providerId=${server.local}`), [400, 'INVALID_INPUT'])
  t.same(await ask(`${server.downloadUrl('/x')}&path=/y`), [400, 'INVALID_INPUT'])
  t.same(await ask(`${server.downloadUrl('/x')}&pth=/y`), [400, 'INVALID_INPUT'])
  t.same(await ask(`${base}?providerId=${server.local}&path=/%ff`), [400, 'INVALID_INPUT'])
  t.same(await ask(server.downloadUrl('/../x')), [400, 'INVALID_PATH'])
  t.same(await ask(server.downloadUrl('/x')), [404, 'NOT_FOUND'])
  t.same(await ask(server.downloadUrl('/x', { providerId: 'nobody' })), [404, 'NOT_FOUND'])
})

/**
 * Counts descriptors except sockets, because the pool of database connections opens and closes some, and except those of the
 * event loops of threads.
 */
async function openFiles(): Promise<number> {
  const names = await readdir('/proc/self/fd')
  const targets = await Promise.all(names.map(name => readlink(`/proc/self/fd/${name}`).catch(() => '')))
  return targets.filter(target => target !== '' && !/^(socket|pipe|anon_inode):/.test(target)).length
}

t.test('many requests on one connection leave no listener or descriptor behind', async t => {
  const server = await startHttp(t)
  await put(server, '/file.bin', content)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const connected = once(server.app.server, 'connection')
  const good = server.downloadUrl('/file.bin')
  await get(good)
  const [socket]: Socket[] = await connected
  const state = async () => ({
    listeners: socket?.eventNames().map(name => [String(name), socket.listenerCount(name)]),
    files: await openFiles(),
  })
  const before = await state()
  const requestListeners = server.app.server.listenerCount('request')
  for (let round = 0; round < extent({ gate: 200, nightly: 1000 }); round++) {
    await get(round % 20 === 0 ? good : `${server.url}/api/download/proxy?ticket=none`)
  }
  await eventually(async () => {
    const after = await state()
    assert.deepEqual(after.listeners, before.listeners)
    // An idle connection to the database may have ended.
    assert.ok(after.files <= before.files)
  })
  t.equal(server.app.server.listenerCount('request'), requestListeners)

  function get(url: string): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    request(url, { agent, headers: server.authorization }, response => resolve(buffer(response)))
      .once('error', reject)
      .end()
    return promise
  }
})
