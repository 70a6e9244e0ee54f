import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { faultProxy } from '../servers/fault-proxy.ts'
import { extent } from '../support/extent.ts'
import { type HttpServer, startHttp, testOrigin } from './server.ts'
import { digest, metadataHeader, reasonOf, send, type TusTarget, tus, tusPath } from './tus.ts'

const mib = 1024 * 1024
const staging = '.stowage-staging'

function to(server: HttpServer, path: string, more: Record<string, string> = {}): TusTarget {
  return { url: server.url, token: server.token, metadata: { providerId: server.local, path, ...more } }
}

/** Creates an upload and resolves with its URL path. */
async function create(target: TusTarget, headers: Record<string, string>, body?: Buffer): Promise<string> {
  const all = { 'upload-metadata': metadataHeader(target.metadata), ...headers }
  const response = await tus(target, 'POST', tusPath, all, body)
  if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`)
  return response.headers.get('location') ?? ''
}

const offsetOf = async (target: TusTarget, url: string) =>
  Number((await tus(target, 'HEAD', url)).headers.get('upload-offset'))

const unfinished = async (server: HttpServer) => readdir(join(server.folder, staging)).catch(() => [])

t.test('tus-js-client uploads files of any size, in any chunks', async t => {
  const server = await startHttp(t)
  const ways = [{}, { chunkSize: 700_001 }, { uploadDataDuringCreation: true }]
  const sizes = extent({ gate: [0, mib, 3 * mib + 17], nightly: [0, 1, mib - 1, mib, mib + 1, 5 * mib + 17] })
  for (const [index, size] of sizes.entries()) {
    for (const options of extent({ gate: ways.slice(index % 3, (index % 3) + 1), nightly: ways })) {
      const bytes = randomBytes(size)
      const path = `/made/${size} ${JSON.stringify(options).replaceAll(/\W/g, '')} é%?#.bin`
      const sent = await send(to(server, path, { filetype: 'application/x-test' }), bytes, options)
      t.equal(sent.path, path)
      t.equal(digest(await readFile(join(server.folder, path))), digest(bytes), path)
    }
  }
  t.same(await unfinished(server), [], 'no unfinished upload remains')
})

t.test('an upload works with a back end that cannot store unfinished files', async t => {
  const server = await startHttp(t)
  const bytes = randomBytes(3 * mib + 5)
  const target = to(server, '/file.bin', { providerId: server.memory })
  await send(target, bytes, { chunkSize: mib + 100 })
  const stored = await fetch(server.downloadUrl('/file.bin', { providerId: server.memory }), {
    headers: server.authorization,
  })
  t.equal(digest(Buffer.from(await stored.arrayBuffer())), digest(bytes))
})

t.test('requests and refusals follow the tus protocol', async t => {
  const server = await startHttp(t, { maxUploadBytes: 10 * mib })
  const target = to(server, '/file.txt')

  const options = await fetch(server.url + tusPath, { method: 'OPTIONS' })
  t.equal(options.status, 204)
  t.equal(options.headers.get('tus-version'), '1.0.0')
  t.equal(options.headers.get('tus-max-size'), String(10 * mib))
  t.match(options.headers.get('tus-extension'), /creation,.*termination.*checksum.*expiration/)
  t.equal(options.headers.get('tus-checksum-algorithm'), 'sha1,sha256,sha512,md5')
  t.equal(options.headers.get('access-control-allow-origin'), null)

  const old = await tus(target, 'POST', tusPath, { 'tus-resumable': '0.2.2' })
  t.equal(old.status, 412)
  t.equal(old.headers.get('tus-version'), '1.0.0')
  const nobody = await fetch(server.url + tusPath, { method: 'POST', headers: { 'tus-resumable': '1.0.0' } })
  t.equal(nobody.status, 401)
  t.equal(nobody.headers.get('tus-resumable'), '1.0.0')
  t.equal(await reasonOf(nobody), 'CREDENTIAL_REQUIRED')

  for (const [headers, status, reason] of [
    [{}, 400, 'INVALID_INPUT'],
    [{ 'upload-length': '-1' }, 400, 'INVALID_INPUT'],
    [{ 'upload-length': '5', 'upload-defer-length': '1' }, 400, 'INVALID_INPUT'],
    [{ 'upload-length': '5', 'upload-metadata': 'path !' }, 400, 'INVALID_INPUT'],
    [{ 'upload-length': '5', 'upload-metadata': '' }, 400, 'INVALID_INPUT'],
    [{ 'upload-length': '5', 'upload-concat': 'partial' }, 400, 'INVALID_INPUT'],
    [{ 'upload-length': String(10 * mib + 1) }, 413, 'TOO_LARGE'],
    [
      { 'upload-length': '5', 'upload-metadata': `path ${Buffer.from([0xff]).toString('base64')}` },
      400,
      'INVALID_INPUT',
    ],
  ] as const) {
    const all = { 'upload-metadata': metadataHeader(target.metadata), ...headers }
    const response = await tus(target, 'POST', tusPath, all)
    t.equal(response.status, status, JSON.stringify(headers))
    t.equal(await reasonOf(response), reason)
  }

  const large = await tus(target, 'POST', tusPath, {
    'upload-metadata': metadataHeader(target.metadata),
    'upload-length': String(10 * mib + 1),
  })
  t.match(await large.json(), { errors: [{ message: `A file here can have at most ${10 * mib} bytes.` }] })

  const url = await create(target, { 'upload-length': '10' })
  t.match(url, /^\/api\/upload\/resumable\/[\w-]{32}$/)
  const head = await tus(target, 'HEAD', url)
  t.equal(head.status, 200)
  t.equal(head.headers.get('upload-offset'), '0')
  t.equal(head.headers.get('upload-length'), '10')
  t.equal(head.headers.get('upload-metadata'), metadataHeader(target.metadata))
  t.equal(head.headers.get('cache-control'), 'no-store')
  t.ok(Date.parse(head.headers.get('upload-expires') ?? '') > Date.now() + 23 * 3600_000)

  const wrong = await tus(target, 'PATCH', url, { 'upload-offset': '3' }, Buffer.from('x'))
  t.equal(wrong.status, 409)
  t.equal(await reasonOf(wrong), 'OFFSET_MISMATCH')
  const type = await tus(target, 'PATCH', url, { 'upload-offset': '0', 'content-type': 'text/plain' }, Buffer.from('x'))
  t.equal(type.status, 415)
  const long = await tus(target, 'PATCH', url, { 'upload-offset': '0' }, Buffer.alloc(11))
  t.equal(long.status, 413)
  t.equal(await offsetOf(target, url), 0)
  const some = await tus(target, 'PATCH', url, { 'upload-offset': '0' }, Buffer.from('0123'))
  t.equal(some.status, 204)
  t.equal(some.headers.get('upload-offset'), '4')
  const rest = await tus(
    target,
    'POST',
    url,
    {
      'x-http-method-override': 'PATCH',
      'content-type': 'application/offset+octet-stream',
      'upload-offset': '4',
    },
    Buffer.from('456789'),
  )
  t.equal(rest.status, 204)
  t.equal(rest.headers.get('upload-stored-path'), '/file.txt')
  t.equal(rest.headers.get('upload-expires'), null)
  t.equal((await readFile(join(server.folder, 'file.txt'))).toString(), '0123456789')
  const after = await tus(target, 'HEAD', url)
  t.equal(after.headers.get('upload-offset'), '10')
  t.equal(
    after.headers.get('upload-stored-path'),
    '/file.txt',
    'HEAD still returns the path if the last response was lost',
  )
})

t.test('the size of an upload can be declared later', async t => {
  const server = await startHttp(t)
  const target = to(server, '/late')
  const url = await create(target, { 'upload-defer-length': '1' })
  t.equal((await tus(target, 'HEAD', url)).headers.get('upload-defer-length'), '1')
  const bytes = randomBytes(2 * mib)
  t.equal((await tus(target, 'PATCH', url, { 'upload-offset': '0' }, bytes)).status, 204)
  const short = await tus(target, 'PATCH', url, { 'upload-offset': `${2 * mib}`, 'upload-length': '5' })
  t.equal(short.status, 400)
  const end = await tus(target, 'PATCH', url, { 'upload-offset': `${2 * mib}`, 'upload-length': `${2 * mib}` })
  t.equal(end.status, 204)
  t.equal(end.headers.get('upload-stored-path'), '/late')
  t.equal(digest(await readFile(join(server.folder, 'late'))), digest(bytes))
})

t.test('a chunk that follows the one under way waits for it, and any other takes over', async t => {
  const server = await startHttp(t)
  const target = to(server, '/file.bin')
  const bytes = randomBytes(3 * mib)
  const url = await create(target, { 'upload-length': String(bytes.length) })
  const patch = (offset: number, length: number) => {
    const headers = {
      ...server.authorization,
      expect: '100-continue',
      'tus-resumable': '1.0.0',
      'content-type': 'application/offset+octet-stream',
      'upload-offset': String(offset),
      'content-length': String(length),
    }
    const sent = request(server.url + url, { method: 'PATCH', headers })
    sent.flushHeaders()
    const response = once(sent, 'response').then(([{ statusCode, headers }]) => [statusCode, headers['upload-offset']])
    return { sent, response, isRead: once(sent, 'continue') }
  }
  const first = patch(0, mib)
  await first.isRead
  first.sent.write(bytes.subarray(0, mib / 2))
  const afterGap = patch(2 * mib, 1)
  t.same((await first.response)[0], 423, 'a request with other bytes takes over')
  t.same((await afterGap.response)[0], 409)
  const offset = await offsetOf(target, url)
  t.ok(offset <= mib / 2)

  const second = patch(offset, mib - offset)
  await second.isRead
  second.sent.write(bytes.subarray(offset, mib - 1))
  const third = patch(mib, 2 * mib)
  const isThirdRead = third.isRead.then(() => 'reads')
  t.equal(await Promise.race([isThirdRead, third.response, sleep(300, 'waits')]), 'waits')
  second.sent.end(bytes.subarray(mib - 1, mib))
  t.same(await second.response, [204, String(mib)])
  await isThirdRead
  third.sent.end(bytes.subarray(mib))
  t.same(await third.response, [204, String(3 * mib)])
  t.equal(digest(await readFile(join(server.folder, 'file.bin'))), digest(bytes))
})

t.test('a chunk with a wrong checksum is discarded', async t => {
  const server = await startHttp(t)
  const bytes = randomBytes(2 * mib + 3)
  for (const algorithm of extent({ gate: ['sha256'], nightly: ['sha1', 'sha256', 'sha512', 'md5'] })) {
    const target = to(server, `/${algorithm}`)
    const url = await create(target, { 'upload-length': String(bytes.length) })
    const checksum = (data: Buffer) => `${algorithm} ${createHash(algorithm).update(data).digest('base64')}`
    const wrong = { 'upload-offset': '0', 'upload-checksum': checksum(Buffer.from('other')) }
    const refused = await tus(target, 'PATCH', url, wrong, bytes)
    t.equal(refused.status, 460)
    t.equal(await reasonOf(refused), 'CHECKSUM_MISMATCH')
    t.equal(await offsetOf(target, url), 0, 'no byte of the chunk is kept')
    const right = { 'upload-offset': '0', 'upload-checksum': checksum(bytes) }
    t.equal((await tus(target, 'PATCH', url, right, bytes)).status, 204)
    t.equal(digest(await readFile(join(server.folder, algorithm))), digest(bytes))
  }
  const target = to(server, '/x')
  const url = await create(target, { 'upload-length': '5' })
  for (const checksum of ['crc99 AAAA', 'sha1', 'sha1 AAAA AAAA']) {
    const response = await tus(
      target,
      'PATCH',
      url,
      { 'upload-offset': '0', 'upload-checksum': checksum },
      Buffer.alloc(5),
    )
    t.equal(response.status, 400, checksum)
  }
})

t.test('termination removes everything that was stored', async t => {
  const server = await startHttp(t)
  const target = to(server, '/gone')
  const url = await create(target, { 'upload-length': String(4 * mib) })
  await tus(target, 'PATCH', url, { 'upload-offset': '0' }, randomBytes(2 * mib))
  t.equal((await unfinished(server)).length, 1)
  t.equal((await tus(target, 'DELETE', url)).status, 204)
  t.same(await unfinished(server), [])
  for (const method of ['HEAD', 'DELETE']) t.equal((await tus(target, method, url)).status, 404)
  const patch = await tus(target, 'PATCH', url, { 'upload-offset': '0' }, Buffer.alloc(1))
  t.equal(patch.status, 404)
  t.equal(await reasonOf(patch), 'NOT_FOUND')
})

t.test('conflict decides what happens to a name that is taken or being uploaded', async t => {
  const server = await startHttp(t)
  await writeFile(join(server.folder, 'there.txt'), 'old')
  await t.rejects(send(to(server, '/there.txt'), Buffer.from('new')), /409/)
  const renamed = await send(to(server, '/there.txt', { conflict: 'rename' }), Buffer.from('new'))
  t.equal(renamed.path, '/there (1).txt')
  await send(to(server, '/there.txt', { conflict: 'replace' }), Buffer.from('new'))
  t.equal((await readFile(join(server.folder, 'there.txt'))).toString(), 'new')
  const bad = await tus(to(server, '/x'), 'POST', tusPath, {
    'upload-length': '1',
    'upload-metadata': metadataHeader({ providerId: server.local, path: '/x', conflict: 'never' }),
  })
  t.equal(bad.status, 400)

  const target = to(server, '/two.txt')
  const first = await create(target, { 'upload-length': '4' })
  await tus(target, 'PATCH', first, { 'upload-offset': '0' }, Buffer.from('o'))
  const second = { 'upload-length': '4', 'upload-metadata': metadataHeader(target.metadata) }
  t.equal((await tus(target, 'POST', tusPath, second)).status, 409, 'under way')
  const other = await create(to(server, '/two.txt', { conflict: 'rename' }), { 'upload-length': '3' })
  t.equal(
    (await tus(target, 'PATCH', other, { 'upload-offset': '0' }, Buffer.from('two'))).headers.get('upload-stored-path'),
    '/two%20(1).txt',
  )

  await writeFile(join(server.folder, 'two.txt'), 'written meanwhile')
  const late = await tus(target, 'PATCH', first, { 'upload-offset': '1' }, Buffer.from('one'))
  t.equal(late.status, 409)
  t.equal(await reasonOf(late), 'ALREADY_EXISTS')
  t.equal((await readFile(join(server.folder, 'two.txt'))).toString(), 'written meanwhile')
})

t.test('a client that lost the response to its creation creates the same upload again', async t => {
  const server = await startHttp(t)
  const target = to(server, '/again.txt')
  const unheard = await create(target, { 'upload-length': '3' })
  const headers = { 'upload-length': '3', 'upload-metadata': metadataHeader(target.metadata) }
  const viewer = await server.services.credentials.authenticate(server.token, testOrigin)
  const { key } = await server.services.apiKeys.create(viewer, { name: 'other', scopes: ['write'] })
  t.equal((await tus({ ...target, token: key }, 'POST', tusPath, headers)).status, 409, 'another credential')
  t.equal((await tus(target, 'POST', tusPath, { ...headers, 'upload-length': '4' })).status, 409, 'another size')
  const again = await create(target, { 'upload-length': '3' })
  t.not(again, unheard)
  t.equal((await tus(target, 'PATCH', again, { 'upload-offset': '0' }, Buffer.from('new'))).status, 204)
  t.equal((await tus(target, 'PATCH', unheard, { 'upload-offset': '0' }, Buffer.from('old'))).status, 409)
  t.equal((await readFile(join(server.folder, 'again.txt'))).toString(), 'new')
})

t.test('uploads survive connections that drop at random points', async t => {
  const server = await startHttp(t)
  const proxy = await faultProxy(t, server.url)
  let file = 0
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 4 * mib }),
      fc.array(fc.integer({ min: 0, max: 2 * mib }), { maxLength: 6 }),
      fc.option(fc.integer({ min: 10_000, max: 3 * mib })),
      async (size, cuts, chunkSize) => {
        const bytes = randomBytes(size)
        const path = `/dropped ${file++}`
        const left = [...cuts]
        proxy.fault = request => {
          const cut = request.method === 'PATCH' ? left.pop() : undefined
          return cut === undefined ? undefined : cut % 5 === 0 ? 'lose answer' : { cutRequestAfter: cut }
        }
        const options = { retryDelays: Array(20).fill(0), ...(chunkSize !== null && { chunkSize }) }
        await send({ ...to(server, path), url: proxy.endpoint }, bytes, options)
        if (digest(await readFile(join(server.folder, path))) !== digest(bytes)) throw new Error('other bytes')
      },
    ),
    { numRuns: extent({ gate: 1, nightly: 20 }) },
  )
  t.same(await unfinished(server), [])
})

t.test('only the credential that created an upload can continue it', async t => {
  const server = await startHttp(t)
  const viewer = await server.services.credentials.authenticate(server.token, testOrigin)
  const { key: value } = await server.services.apiKeys.create(viewer, {
    name: 'inside',
    scopes: ['write'],
    providerAccess: { restrictions: [{ providerId: server.local, basePath: '/inside' }] },
  })
  const outside = { ...to(server, '/outside'), token: value }
  const refused = await tus(outside, 'POST', tusPath, {
    'upload-length': '1',
    'upload-metadata': metadataHeader(outside.metadata),
  })
  t.equal(refused.status, 403)
  t.equal(await reasonOf(refused), 'OUTSIDE_BASE_PATH')
  const mine = { ...to(server, '/inside/file'), token: value }
  const url = await create(mine, { 'upload-length': '4' })
  const other = to(server, '/inside/file')
  for (const method of ['HEAD', 'PATCH', 'DELETE']) {
    const response = await tus(
      other,
      method,
      url,
      { 'upload-offset': '0' },
      method === 'PATCH' ? Buffer.alloc(4) : null,
    )
    t.equal(response.status, 404, method)
  }
  t.equal((await tus(mine, 'HEAD', url)).status, 200)
})
