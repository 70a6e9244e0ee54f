import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { extent } from '../support/extent.ts'
import { type HttpServer, startHttp, testOrigin } from './server.ts'

interface Reply {
  status: number
  /** The reason of the first error. */
  reason: string | null
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape of its response
  body: any
  headers: Headers
}

async function post(server: HttpServer, url: string, body: RequestInit['body'], headers: object = {}): Promise<Reply> {
  const init = { method: 'POST', body: body ?? null, headers: { ...server.authorization, ...headers }, duplex: 'half' }
  const response = await fetch(url, init)
  const parsed = (await response.json()) as { errors?: { extensions: { reason: string } }[] }
  const reason = parsed.errors?.[0]?.extensions.reason ?? null
  return { status: response.status, reason, body: parsed, headers: response.headers }
}

const sha256 = (text: string) => `sha-256=:${createHash('sha256').update(text).digest('base64')}:`

/** A body that fetch sends in chunks, without a Content-Length. */
function streamOf(...pieces: string[]): ReadableStream {
  return new Blob(pieces).stream()
}

/** Lists all files below the root, including hidden ones. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length))
    .sort()
}

t.test('a raw body is stored as one file with its metadata', async t => {
  const server = await startHttp(t, { maxUploadBytes: 1000 })
  const stored = await post(server, server.uploadUrl('/new folder/a+b.json'), 'hello', {
    'content-type': 'application/json',
    'content-digest': `md5=:AAAA:, ${sha256('hello')}`,
  })
  t.match(stored, { status: 201, reason: null })
  t.match(stored.body, {
    providerId: server.local,
    path: '/new folder/a+b.json',
    name: 'a+b.json',
    size: 5,
    mimeType: 'application/json',
    etag: /./,
    modifiedAt: /^\d{4}-\d\d-\d\dT.*Z$/,
    checksums: [],
  })
  t.equal(stored.headers.get('etag'), `"${stored.body.etag}"`)
  const location = `${server.url}${stored.headers.get('location')}`
  const response = await fetch(location, { headers: server.authorization })
  t.match([await response.text(), response.headers.get('etag')], ['hello', stored.headers.get('etag')])

  const inMemory = { providerId: server.memory }
  const typed = await post(server, server.uploadUrl('/typed', inMemory), 'x', { 'content-type': 'text/x-own' })
  t.equal(typed.body.mimeType, 'text/x-own')
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const untyped = await post(server, server.uploadUrl('/page.html', inMemory), 'x', form)
  t.equal(untyped.body.mimeType, 'text/html', "curl's default content type is ignored")
  t.match(await post(server, server.uploadUrl('/empty'), null), { status: 201, body: { size: 0 } })
  const streamed = streamOf('in ', 'pieces')
  t.match(await post(server, server.uploadUrl('/chunked'), streamed), { status: 201, body: { size: 9 } })
})

t.test('conflict decides what happens to a name that is taken', async t => {
  const server = await startHttp(t)
  const upload = (conflict?: string) =>
    post(server, server.uploadUrl('/a.txt', conflict ? { conflict } : {}), conflict ?? 'first')
  t.match(await upload(), { status: 201 })
  t.match(await upload(), { status: 409, reason: 'ALREADY_EXISTS' })
  t.match(await upload('fail'), { status: 409, reason: 'ALREADY_EXISTS' })
  t.match(await upload('rename'), { status: 201, body: { path: '/a (1).txt' } })
  t.match(await upload('replace'), { status: 201, body: { path: '/a.txt' } })
  t.match(await upload('REPLACE'), { status: 400, reason: 'INVALID_INPUT' })
  t.equal(await readFile(join(server.folder, 'a.txt'), 'utf8'), 'replace')
  t.same(await filesIn(server.folder), ['/a (1).txt', '/a.txt'])
})

t.test('a refused upload stores nothing', async t => {
  const server = await startHttp(t, { maxUploadBytes: 100_000 })
  await mkdir(join(server.folder, 'folder'))
  await writeFile(join(server.folder, 'file'), '')
  const large = 'x'.repeat(100_001)
  const [base = ''] = server.uploadUrl('/x').split('?')
  const key = await readOnlyKey(server)
  const refusals: [string, string, string | ReadableStream, Record<string, string>, number, string][] = [
    ['no path', `${base}?providerId=${server.local}`, 'x', {}, 400, 'INVALID_INPUT'],
    ['no provider', `${base}?path=/x`, 'x', {}, 400, 'INVALID_INPUT'],
    ['a repeated parameter', `${server.uploadUrl('/x')}&path=/y`, 'x', {}, 400, 'INVALID_INPUT'],
    ['an unknown parameter', `${server.uploadUrl('/x')}&overwrite=1`, 'x', {}, 400, 'INVALID_INPUT'],
    ['a path that is not UTF-8', `${base}?providerId=${server.local}&path=/%C3%28`, 'x', {}, 400, 'INVALID_INPUT'],
    ['no credential', server.uploadUrl('/x'), 'x', { authorization: '' }, 401, 'INVALID_CREDENTIAL'],
    ['a read-only key', server.uploadUrl('/x'), 'x', { authorization: `Bearer ${key}` }, 403, 'SCOPE_REQUIRED'],
    ['a parent', server.uploadUrl('/a/../x'), 'x', {}, 400, 'INVALID_PATH'],
    ['a backslash', server.uploadUrl('/a\\x'), 'x', {}, 400, 'INVALID_PATH'],
    ['NUL', server.uploadUrl('/a\0x'), 'x', {}, 400, 'INVALID_PATH'],
    ['a double-encoded separator', server.uploadUrl('/a%2Fx'), 'x', {}, 400, 'INVALID_PATH'],
    ['a name that is too long', server.uploadUrl(`/${'n'.repeat(2000)}`), 'x', {}, 400, 'INVALID_PATH'],
    ['the root', server.uploadUrl('/'), 'x', {}, 400, 'ROOT_IS_FIXED'],
    ['a folder', server.uploadUrl('/folder', { conflict: 'replace' }), 'x', {}, 400, 'NOT_A_FILE'],
    ['a file as a folder', server.uploadUrl('/file/x'), 'x', {}, 400, 'NOT_A_FOLDER'],
    ['another digest', server.uploadUrl('/x'), 'x', { 'content-digest': sha256('y') }, 422, 'DIGEST_MISMATCH'],
    ['a malformed digest', server.uploadUrl('/x'), 'x', { 'content-digest': 'sha-256=abc' }, 400, 'INVALID_INPUT'],
    ['an encoding', server.uploadUrl('/x'), 'x', { 'content-encoding': 'gzip' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['a part', server.uploadUrl('/x'), 'x', { 'content-range': 'bytes 0-0/2' }, 400, 'INVALID_INPUT'],
    ['a malformed type', server.uploadUrl('/x'), 'x', { 'content-type': 'text' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['a Content-Length above the limit', server.uploadUrl('/x'), large, {}, 413, 'TOO_LARGE'],
    ['a chunked body above the limit', server.uploadUrl('/x'), streamOf(large), {}, 413, 'TOO_LARGE'],
  ]
  const before = await filesIn(server.folder)
  for (const [what, url, body, headers, status, reason] of refusals) {
    t.match(await post(server, url, body, headers), { status, reason }, what)
  }
  t.same(await filesIn(server.folder), before)
})

async function readOnlyKey({ services, token }: HttpServer): Promise<string> {
  const viewer = await services.credentials.authenticate(token, testOrigin)
  return (await services.apiKeys.create(viewer, { name: 'reader', scopes: ['read'] })).key
}

t.test('multipart forms', async t => {
  const server = await startHttp(t, { maxUploadBytes: 100_000 })
  const url = `${server.url}/api/upload/proxy`

  await t.test('a form stores several files in order', async t => {
    const form = new FormData()
    form.append('providerId', server.local)
    form.append('path', '/forms')
    form.append('conflict', 'rename')
    for (const [index, size] of [0, 1, 70_000, 99_999].entries()) {
      form.append('file', new Blob([`${index}`.repeat(size)]), `ü ${index % 2}.bin`)
    }
    const { status, body } = await post(server, url, form)
    t.equal(status, 201)
    const paths = ['/forms/ü 0.bin', '/forms/ü 1.bin', '/forms/ü 0 (1).bin', '/forms/ü 1 (1).bin']
    t.match(body.entries, [
      { path: paths[0], size: 0 },
      { path: paths[1], size: 1 },
      { path: paths[2], size: 70_000 },
      { path: paths[3], size: 99_999 },
    ])
    t.equal(await readFile(join(server.folder, 'forms/ü 1 (1).bin'), 'utf8'), '3'.repeat(99_999))
  })

  await t.test('the query supplies missing fields, and the folder defaults to the root', async t => {
    const form = new FormData()
    form.append('f', new Blob(['x'], { type: 'text/csv' }), 'query.dat')
    const { body } = await post(server, `${url}?providerId=${server.memory}`, form)
    t.match(body.entries, [{ path: '/query.dat', mimeType: 'text/csv' }])
    form.append('g', new Blob(['y']), 'other.dat')
    const again = await post(server, `${url}?providerId=${server.memory}&conflict=replace&path=%2F`, form)
    t.match(again, { status: 201, body: { entries: [{ path: '/query.dat' }, { path: '/other.dat' }] } })
  })

  const field = (name: string, value: string) => part(`name="${name}"`, value)
  const file = (name: string, value = 'x') => part(`name="file"; filename="${name}"`, value)
  const provider = field('providerId', server.local)
  const folder = field('path', '/refused')
  const refused: Record<string, { form: string; reason: string; status?: number; stored?: string[] }> = {
    'no provider': { form: whole(folder, file('a')), reason: 'INVALID_INPUT' },
    'no file': { form: whole(provider, folder), reason: 'INVALID_INPUT' },
    'an empty body': { form: '', reason: 'INVALID_INPUT' },
    'a file without a name': { form: whole(provider, folder, file('')), reason: 'INVALID_INPUT' },
    'a file without a filename': {
      form: whole(provider, folder, part('name="file"', 'x', 'application/octet-stream')),
      reason: 'INVALID_INPUT',
    },
    'a text field named file': { form: whole(provider, folder, field('file', 'x')), reason: 'INVALID_INPUT' },
    'a repeated field': { form: whole(provider, provider, file('a')), reason: 'INVALID_INPUT' },
    'a field named like a method': {
      form: whole(provider, field('toString', 'x'), file('a')),
      reason: 'INVALID_INPUT',
    },
    'a field that is too long': {
      form: whole(provider, field('path', `/${'x'.repeat(20_000)}`), file('a')),
      reason: 'INVALID_INPUT',
    },
    'many fields': { form: whole(...Array<string>(20).fill(provider)), reason: 'INVALID_INPUT' },
    'an invalid conflict': { form: whole(provider, field('conflict', 'no'), file('a')), reason: 'INVALID_INPUT' },
    'a path in the filename': { form: whole(provider, folder, file('a/b')), reason: 'INVALID_PATH' },
    'a parent in the filename': { form: whole(provider, folder, file('../b')), reason: 'INVALID_PATH' },
    'a Windows path': { form: whole(provider, folder, file('C:\\\\b')), reason: 'INVALID_PATH' },
    'a folder with a parent': { form: whole(provider, field('path', '/a/..'), file('b')), reason: 'INVALID_PATH' },
    'a file that is cut': { form: provider + folder + file('cut', 'x'.repeat(10)), reason: 'INCOMPLETE_BODY' },
    'a large file that is cut': {
      form: provider + folder + file('cut', 'x'.repeat(90_000)),
      reason: 'INCOMPLETE_BODY',
    },
    'a form without its end': {
      form: `${provider + folder + file('cut')}--${boundary}\r\n`,
      reason: 'INCOMPLETE_BODY',
    },
    'a line break in a filename': {
      form: whole(provider, folder, file('first'), part('name="file"; filename*=UTF-8\'\'a%0Ab', 'x'), file('last')),
      reason: 'INVALID_INPUT',
      stored: ['/refused/first'],
    },
    'a part that is not form-data': {
      form: whole(provider, folder, part('', 'x').replace('form-data', 'attachment; name="file"'), file('last')),
      reason: 'INVALID_INPUT',
    },
    'a part without headers': {
      form: whole(provider, folder, file('last'), `--${boundary}\r\n\r\nx\r\n`),
      reason: 'INVALID_INPUT',
    },
    'a body that is not a form': { form: 'hello', reason: 'INCOMPLETE_BODY' },
    'a field after a file': {
      form: whole(provider, folder, file('early'), field('conflict', 'fail')),
      reason: 'INVALID_INPUT',
      stored: ['/refused/early'],
    },
    'a file that is too large': {
      form: whole(provider, field('path', '/size'), file('a'), file('b', 'x'.repeat(100_001)), file('c')),
      reason: 'TOO_LARGE',
      status: 413,
      stored: ['/size/a'],
    },
    'a name that is taken': {
      form: whole(provider, field('path', '/taken'), file('a'), file('a')),
      reason: 'ALREADY_EXISTS',
      status: 409,
      stored: ['/taken/a'],
    },
  }
  const type = { 'content-type': `multipart/form-data; boundary=${boundary}` }
  for (const [what, { form, reason, status = 400, stored = [] }] of Object.entries(refused)) {
    const before = await filesIn(server.folder)
    const answer = await post(server, url, form, type)
    t.match(answer, { status, reason }, what)
    t.same(answer.body.errors?.[0].extensions.stored ?? [], stored, what)
    t.same(await filesIn(server.folder), [...before, ...stored].sort(), what)
  }
  t.match(await post(server, url, 'x', { 'content-type': 'multipart/form-data' }), {
    status: 400,
    reason: 'INVALID_INPUT',
  })
  t.match(
    await post(server, url, whole(provider, file('a')), {
      ...type,
      authorization: `Bearer ${await readOnlyKey(server)}`,
    }),
    {
      status: 403,
      reason: 'SCOPE_REQUIRED',
    },
  )
  const like = `x--${boundary}\r\n\r--${boundary}\n--${boundary}\r\n--a-boundar\r\n-\r\n--`
  const good = [provider, field('path', '/pieces'), file('like', like), file('empty', '')]
  const unread = part('name="file"; filename*=UTF-8\'\'a%0Ab', like)
  for (const size of extent({ gate: [17], nightly: [1, 2, 17, 64] })) {
    t.equal(await inPieces(server, whole(...good), size), 201, `in pieces of ${size} bytes`)
    t.equal(await readFile(join(server.folder, 'pieces/like'), 'utf8'), like)
    t.equal(await inPieces(server, whole(...good, unread), size), 400, `unreadable, in pieces of ${size} bytes`)
  }
  const many = Array.from({ length: 1001 }, (_, index) => file(String(index), ''))
  const tooMany = await post(
    server,
    url,
    whole(field('providerId', server.memory), field('path', '/many'), ...many),
    type,
  )
  t.match(tooMany, { status: 413, reason: 'TOO_LARGE' })
  t.equal(tooMany.body.errors[0].extensions.stored.length > 900, true)
  await loggedCleanly(t, server)
})

/** Each request was logged with its own id, and none as a fault of the server. */
async function loggedCleanly(t: Test, server: HttpServer): Promise<void> {
  const ids = server.logs.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'request done')
  t.equal(new Set(ids.map(({ requestId }) => requestId)).size, ids.length)
  t.equal(
    server.logs.some(line => JSON.parse(line).level >= 50),
    false,
    'bad input is not logged as a fault',
  )
}

const boundary = 'a-boundary'

/** Sends a form in chunks of `size` bytes and resolves with the status. */
async function inPieces(server: HttpServer, text: string, size: number): Promise<number> {
  const form = Buffer.from(text)
  const headers = { ...server.authorization, 'content-type': `multipart/form-data; boundary=${boundary}` }
  const sent = request(`${server.url}/api/upload/proxy?conflict=replace`, { method: 'POST', headers })
  for (let at = 0; at < form.length; at += size) {
    sent.write(form.subarray(at, at + size))
    await setImmediate()
  }
  sent.end(`an epilogue\r\n--${boundary}\r\n`)
  const [response] = await once(sent, 'response')
  response.resume()
  return response.statusCode
}

function part(disposition: string, value: string, type = ''): string {
  const typed = type ? `Content-Type: ${type}\r\n` : ''
  return `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${typed}\r\n${value}\r\n`
}

function whole(...parts: string[]): string {
  return `${parts.join('')}--${boundary}--\r\n`
}
