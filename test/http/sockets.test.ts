import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, open, readdir, readFile, readlink, rename, truncate, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { atNight, extent, isNight } from '../support/extent.ts'
import { type HttpServer, startHttp, testOrigin } from './server.ts'
import { eventually, head, talk } from './socket.ts'

const mebibyte = 1024 * 1024

/** Returns what the descriptors lead to, except those of the event loops of threads. */
async function openFiles(): Promise<string[]> {
  const names = await readdir('/proc/self/fd')
  const targets = await Promise.all(names.map(name => readlink(`/proc/self/fd/${name}`).catch(() => '')))
  return targets.filter(target => target !== '' && !/^(pipe|anon_inode):/.test(target))
}

/** Waits until no unfinished upload, no file `path` and no additional descriptor remain. */
async function leavesNothing(server: HttpServer, path: string, descriptors: number): Promise<void> {
  await eventually(async () => {
    const files = await readdir(server.folder, { recursive: true, withFileTypes: true })
    assert.deepEqual(
      files.filter(file => file.isFile() && (file.name === path || file.parentPath.includes('.stowage-'))),
      [],
    )
    assert.equal(server.app.transfers.size, 0)
    assert.ok((await openFiles()).length <= descriptors)
  })
}

t.test('a client that sends Expect: 100-continue is refused before it sends its body', async t => {
  const server = await startHttp(t, { maxUploadBytes: 1000 })
  await writeFile(join(server.folder, 'taken'), '')
  const viewer = await server.services.credentials.authenticate(server.token, testOrigin)
  const { key } = await server.services.apiKeys.create(viewer, { name: 'reader', scopes: ['read'] })
  const ask = async (path: string, headers: Record<string, string | number>) => {
    const client = await talk(server.port)
    const given = { 'Content-Length': 5, Expect: '100-continue', Authorization: server.authorization.authorization }
    await client.send(head('POST', server.uploadUrl(path), { ...given, ...headers }))
    await client.until(/HTTP\/1\.1 \d+/)
    return client
  }
  const refused: [string, Record<string, string | number>, number][] = [
    ['/new', { Authorization: 'Bearer nonsense' }, 401],
    ['/new', { Authorization: `Bearer ${key}` }, 403],
    ['/taken', {}, 409],
    ['/new', { 'Content-Length': 1001 }, 413],
    ['/../new', {}, 400],
    ['/new', { 'Content-Type': 'multipart/form-data; boundary=x', Authorization: `Bearer ${key}` }, 403],
  ]
  for (const [path, headers, status] of refused) {
    const client = await ask(path, headers)
    t.match(client.received(), new RegExp(`^HTTP/1\\.1 ${status} `), `${status}`)
    t.match(client.received(), /\r\nConnection: close\r\n/i)
    client.socket.destroy()
  }
  const client = await ask('/new', {})
  t.match(client.received(), /^HTTP\/1\.1 100 Continue\r\n\r\n$/)
  await client.send('hello')
  await client.until(/HTTP\/1\.1 201 /)
  client.socket.destroy()
  t.equal(await readFile(join(server.folder, 'new'), 'utf8'), 'hello')

  const body = join(server.folder, 'form')
  await writeFile(body, 'x'.repeat(500))
  const form = ['-F', `providerId=${server.local}`, '-F', `file=@${body};filename=by-curl`]
  const auth = ['-H', `Authorization: Bearer ${server.token}`, '-H', 'Expect: 100-continue']
  const { stdout } = await promisify(execFile)('curl', ['-s', ...auth, ...form, `${server.url}/api/upload/proxy`])
  t.match(JSON.parse(stdout), { entries: [{ path: '/by-curl', size: 500 }] })
})

t.test('a client that keeps sending after a refusal can read it and is then cut off', async t => {
  const server = await startHttp(t)
  const headers = { 'Content-Length': 4096 * mebibyte, Authorization: 'Bearer nonsense' }
  const polite = await talk(server.port)
  await polite.send(head('POST', server.uploadUrl('/x'), headers))
  for (let sent = 0; sent < 10; sent++) await polite.send(Buffer.alloc(mebibyte))
  await polite.until(/INVALID_CREDENTIAL/)
  polite.socket.end()
  t.equal(await polite.ended, false, 'the connection is not reset')

  const deaf = await talk(server.port)
  await deaf.send(head('POST', server.uploadUrl('/x'), headers))
  let sent = 0
  const block = Buffer.alloc(mebibyte)
  try {
    for (; sent < 4096; sent++) await deaf.send(block)
  } catch {
    // The server closed the connection, as expected.
  }
  t.ok(sent < 64, `the server took ${sent} MiB of 4096`)
  t.match(deaf.received(), 'INVALID_CREDENTIAL')
})

t.test('a wrong Content-Length never stores a partial or longer file', async t => {
  const server = await startHttp(t)
  const start = head('POST', server.uploadUrl('/lie'), { 'Content-Length': 10, ...server.authorization })

  const short = await talk(server.port)
  const descriptors = (await openFiles()).length
  await short.send(`${start}hello`)
  short.socket.end()
  await short.ended
  t.match(short.received(), /^HTTP\/1\.1 400 [\s\S]*INCOMPLETE_BODY/)
  await leavesNothing(server, 'lie', descriptors)

  const reset = await talk(server.port)
  await reset.send(`${start}hello`)
  await eventually(async () => assert.equal(server.app.transfers.size, 1))
  reset.socket.resetAndDestroy()
  await leavesNothing(server, 'lie', descriptors)

  const long = await talk(server.port)
  await long.send(`${start}0123456789and more\r\n\r\n`)
  await long.ended
  t.match(
    long.received(),
    /^HTTP\/1\.1 201 [\s\S]*HTTP\/1\.1 400 |^HTTP\/1\.1 201 /,
    'exactly the declared bytes are stored',
  )
  t.equal(await readFile(join(server.folder, 'lie'), 'utf8'), '0123456789')
})

t.test('input that is not HTTP gets an error of the usual shape', async t => {
  const server = await startHttp(t)
  const chunked = head('POST', server.uploadUrl('/x'), { 'Transfer-Encoding': 'chunked', ...server.authorization })
  const both = { 'Transfer-Encoding': 'chunked', 'Content-Length': 5, ...server.authorization }
  const cases: Record<string, [string, number, string]> = {
    garbage: ['\x16\x03\x01\x00\xa5\r\n\r\n', 400, 'INVALID_INPUT'],
    'a malformed chunk': [`${chunked}5\r\nhello\r\nzz\r\n`, 400, 'INVALID_INPUT'],
    'two lengths': [head('POST', server.uploadUrl('/x'), both), 400, 'INVALID_INPUT'],
    'headers without end': [`GET /${'x'.repeat(40_000)} HTTP/1.1\r\n`, 431, 'INVALID_INPUT'],
    'no host': ['GET /healthz HTTP/1.1\r\n\r\n', 400, ''],
    'an unknown method': ['MAKE / HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'INVALID_INPUT'],
  }
  for (const [what, [text, status, reason]] of Object.entries(cases)) {
    const client = await talk(server.port)
    await client.send(text)
    await client.ended
    const [heads = '', body = ''] = client.received().split('\r\n\r\n')
    t.match(heads, new RegExp(`^HTTP/1\\.1 ${status} `), what)
    if (reason) t.match(JSON.parse(body), { errors: [{ extensions: { reason } }] }, what)
    client.socket.destroy()
  }
  await leavesNothing(server, 'x', Number.POSITIVE_INFINITY)
})

t.test('garbage after good requests does not corrupt their responses', async t => {
  const server = await startHttp(t)
  await writeFile(join(server.folder, 'big'), Buffer.alloc(3 * mebibyte, 'b'))
  const client = await talk(server.port)
  const get = head('GET', server.downloadUrl('/big'), server.authorization)
  await client.send(`${get}${get}no http\r\n\r\n`)
  await client.ended
  const responses = client.received().split('HTTP/1.1 ').slice(1)
  t.match(
    responses.map(response => response.slice(0, 3)),
    ['200', '200'],
  )
  for (const response of responses.slice(0, 2)) t.equal(response.split('\r\n\r\n')[1]?.length, 3 * mebibyte)
})

atNight(t, 'clients that disconnect during a download leave nothing open', async t => {
  const server = await startHttp(t)
  for (const providerId of extent({ gate: [server.local], nightly: [server.local, server.memory] })) {
    const file = Buffer.alloc(20 * mebibyte)
    const init = { method: 'POST', body: file, headers: server.authorization }
    t.equal((await fetch(server.uploadUrl('/big', { providerId }), init)).status, 201)
    const descriptors = (await openFiles()).length
    const get = head('GET', server.downloadUrl('/big', { providerId }), server.authorization)
    const ranges = head('GET', server.downloadUrl('/big', { providerId }), {
      ...server.authorization,
      Range: 'bytes=0-9000000,10000000-20000000',
    })
    // In a pipeline the later responses have no socket yet when the connection closes.
    for (const request of [get, ranges, get + get + get]) {
      const clients = await Promise.all(Array.from({ length: 5 }, () => talk(server.port)))
      for (const client of clients) {
        await client.send(request)
        await client.until(/\r\n\r\n/)
        client.socket.pause()
      }
      for (const [index, { socket }] of clients.entries()) {
        if (index % 2 === 0) socket.destroy()
        else socket.resetAndDestroy()
      }
      await leavesNothing(server, 'none', descriptors)
    }
  }
  t.notOk(server.logs.some(line => JSON.parse(line).level >= 50))
})

t.test('a file that is truncated while it is sent is never padded', async t => {
  const server = await startHttp(t)
  const path = join(server.folder, 'shrinking')
  const size = extent({ gate: 32, nightly: 64 }) * mebibyte
  await writeFile(path, Buffer.alloc(size, 'a'))
  const client = await talk(server.port)
  const begun = once(client.socket, 'data')
  await client.send(head('GET', server.downloadUrl('/shrinking'), server.authorization))
  await begun
  client.socket.pause()
  await truncate(path, mebibyte)
  client.socket.resume()
  await client.ended
  const [heads = '', body = ''] = client.received().split('\r\n\r\n')
  t.match(heads, new RegExp(`^HTTP/1\\.1 200 [\\s\\S]*content-length: ${size}`, 'i'))
  t.ok(body.length < size)
  t.match(body, /^a+$/)
  await leavesNothing(server, 'none', Number.POSITIVE_INFINITY)
})

t.test('a download is cut if its file is written to, and completes if the file is replaced or removed', async t => {
  const server = await startHttp(t)
  const path = join(server.folder, 'changing')
  const size = 32 * mebibyte
  const overwrite = async (byte: string) => {
    const handle = await open(path, 'r+')
    await handle.write(byte, size - 1)
    await handle.close()
  }
  const whole = Buffer.alloc(size, 'a')
  const changes: Record<string, { change: () => Promise<unknown>; arrives: boolean }> = {
    'the same bytes again': { arrives: false, change: () => overwrite('a') },
    'other bytes at the end': { arrives: false, change: () => overwrite('b') },
    'rewritten in place, longer': { arrives: false, change: () => writeFile(path, Buffer.alloc(size + 1, 'b')) },
    'more at the end': { arrives: false, change: () => appendFile(path, 'b') },
    'replaced by a rename': {
      arrives: true,
      change: async () => {
        await writeFile(`${path}.new`, 'b')
        await rename(`${path}.new`, path)
      },
    },
    renamed: { arrives: true, change: () => rename(path, `${path}.old`) },
    removed: { arrives: true, change: () => unlink(path) },
  }
  const byDay = ['other bytes at the end', 'more at the end', 'replaced by a rename', 'removed']
  for (const [what, { change, arrives }] of Object.entries(changes)) {
    if (!isNight && !byDay.includes(what)) continue
    await writeFile(path, whole)
    const response = await fetch(server.downloadUrl('/changing'), { headers: server.authorization })
    t.equal(response.headers.get('content-length'), `${size}`)
    const pieces: Uint8Array[] = []
    const reading = (async () => {
      for await (const piece of response.body ?? []) {
        if (pieces.push(piece) === 1) await change()
      }
      return Buffer.concat(pieces).equals(whole)
    })()
    if (arrives) t.ok(await reading, what)
    else await t.rejects(reading, { message: 'terminated' }, what)
  }
})

atNight(t, 'a file that is replaced constantly always arrives as one of its versions', async t => {
  const server = await startHttp(t)
  const path = join(server.folder, 'changing')
  const version = (number: number) => Buffer.alloc(200_000 + number, String(number % 10))
  let stop = false
  const writing = (async () => {
    for (let number = 0; !stop; number++) {
      await writeFile(`${path}.new`, version(number))
      await rename(`${path}.new`, path)
    }
  })()
  await eventually(async () => (await open(path)).close())
  const statuses = new Set<number>()
  for (let round = 0; round < extent({ gate: 25, nightly: 100 }); round++) {
    const response = await fetch(server.downloadUrl('/changing'), { headers: server.authorization })
    const body = Buffer.from(await response.arrayBuffer())
    statuses.add(response.status)
    if (response.status === 200) assert.ok(body.equals(version(body.length - 200_000)))
    else assert.equal(response.status, 503)
  }
  stop = true
  await writing
  t.ok(statuses.has(200))
})

t.test('an upload that is cut keeps the existing file', async t => {
  const server = await startHttp(t)
  await writeFile(join(server.folder, 'kept'), 'before')
  const descriptors = (await openFiles()).length
  const url = server.uploadUrl('/kept', { conflict: 'replace' })
  const form = `--b\r\nContent-Disposition: form-data; name="f"; filename="kept"\r\n\r\n${'x'.repeat(3 * mebibyte)}`
  const formHeaders = { 'Content-Type': 'multipart/form-data; boundary=b', 'Content-Length': 4 * mebibyte }
  const requests = [
    head('POST', url, { 'Content-Length': 4 * mebibyte, ...server.authorization }) + 'x'.repeat(3 * mebibyte),
    head('POST', url, { 'Transfer-Encoding': 'chunked', ...server.authorization }) +
      `300000\r\n${'x'.repeat(3 * mebibyte)}\r\n`,
    head('POST', url.replace('path=%2Fkept', 'path=%2F'), { ...formHeaders, ...server.authorization }) + form,
  ]
  for (const request of requests) {
    const client = await talk(server.port)
    await client.send(request)
    await eventually(async () => {
      const files = await readdir(server.folder, { recursive: true, withFileTypes: true })
      assert.equal(files.filter(file => file.isFile()).length, 2)
    })
    client.socket.destroy()
    await once(client.socket, 'close')
    await leavesNothing(server, 'none', descriptors)
    t.equal(await readFile(join(server.folder, 'kept'), 'utf8'), 'before')
  }
})

t.test('a connection stays usable after an upload that was refused or has an epilogue', async t => {
  const server = await startHttp(t)
  await writeFile(join(server.folder, 'taken'), '')
  const client = await talk(server.port)
  const body = 'x'.repeat(600_000)
  const post = (path: string, length: number, headers = {}) =>
    head('POST', server.uploadUrl(path), { 'Content-Length': length, ...server.authorization, ...headers })
  const form = (name: string, value: string) =>
    `--b\r\nContent-Disposition: form-data; name="f"; filename="${name}"\r\n\r\n${value}\r\n--b--\r\n`
  const health = head('GET', `${server.url}/healthz`)
  const type = { 'Content-Type': 'multipart/form-data; boundary=b' }
  const small = 'x'.repeat(100)
  const medium = 'x'.repeat(130_000)
  const rounds: [string, number][] = [
    [post('/taken', small.length) + small, 409],
    [post('/', form('taken', small).length, type) + form('taken', small), 409],
    // The body is larger than the form parser reads at once.
    [post('/', form('taken', medium).length, type) + form('taken', medium), 409],
    [post('/', form('new', small).length + body.length, type) + form('new', small) + body, 201],
    [post('/large', body.length) + body, 201],
  ]
  for (const [index, [request]] of rounds.entries()) {
    await client.send(request + health)
    await client.until(new RegExp(`(?:[\\s\\S]*?"status":"ok"){${index + 1}}`))
  }
  const statuses = [...client.received().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
  t.same(
    statuses,
    rounds.flatMap(([, status]) => [status, 200]),
  )
  client.socket.destroy()
})
