import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { MemoryProvider } from '../../adapters/backends/memory/provider.ts'
import type { AdapterDefinition, Call, Entry, StoragePath, Traits } from '../../adapters/contract.ts'
import { extent } from '../support/extent.ts'
import { type HttpServer, startHttp } from './server.ts'

const digest = (algorithm: string, bytes: string | Buffer) => createHash(algorithm).update(bytes).digest('base64')
const hex = (algorithm: string, bytes: string | Buffer) => createHash(algorithm).update(bytes).digest('hex')

async function send(
  server: HttpServer,
  path: string,
  body: string,
  headers: Record<string, string> = {},
  more: Record<string, string> = {},
): Promise<{ status: number; reason: string | undefined; etag: string | null }> {
  const response = await fetch(server.uploadUrl(path, more), {
    method: 'POST',
    body: Buffer.from(body),
    headers: { ...server.authorization, ...headers },
  })
  const answer = (await response.json()) as { errors?: { extensions: { reason: string } }[] }
  return {
    status: response.status,
    reason: answer.errors?.[0]?.extensions.reason,
    etag: response.headers.get('etag'),
  }
}

t.test('an upload with any wrong digest stores nothing', async t => {
  const server = await startHttp(t)
  const forms = {
    sha256: (text: string) => ['content-digest', `sha-256=:${digest('sha256', text)}:`],
    sha512: (text: string) => ['content-digest', `sha-512=:${digest('sha512', text)}:`],
    repr: (text: string) => ['repr-digest', `sha-256=:${digest('sha256', text)}:`],
    repr512: (text: string) => ['repr-digest', `sha-512=:${digest('sha512', text)}:`],
    md5: (text: string) => ['content-md5', digest('md5', text)],
    unknown: () => ['content-digest', 'unixsum=:AAAA:'],
  } as const
  const names = Object.keys(forms) as (keyof typeof forms)[]
  const truths = fc.record(Object.fromEntries(names.map(name => [name, fc.constantFrom(null, true, true, false)])))
  let round = 0
  await fc.assert(
    fc.asyncProperty(truths, fc.string({ maxLength: 100 }), async (given, text) => {
      const headers: Record<string, string> = {}
      for (const name of names) {
        const truth = given[name]
        if (truth === null || truth === undefined) continue
        const [header = '', value = ''] = forms[name](truth ? text : `${text}!`)
        headers[header] = headers[header] ? `${headers[header]}, ${value}` : value
      }
      const path = `/digest-${round++}`
      const isTrue = names.every(name => name === 'unknown' || given[name] !== false)
      const { status, reason } = await send(server, path, text, headers)
      const isThere = (await readdir(server.folder)).includes(path.slice(1))
      return isTrue ? status === 201 && isThere : status === 422 && reason === 'DIGEST_MISMATCH' && !isThere
    }),
    { numRuns: extent({ gate: 8, nightly: 60 }) },
  )
  for (const md5 of ['', 'x', `${'A'.repeat(22)}=`, `${digest('md5', 'x')}, ${digest('md5', 'x')}`, hex('md5', 'x')]) {
    t.match(
      await send(server, '/malformed', 'x', { 'content-md5': md5 }),
      { status: 400, reason: 'INVALID_INPUT' },
      md5,
    )
  }
  const form = new FormData()
  form.append('file', new Blob(['x']), 'x')
  for (const header of ['content-digest', 'repr-digest', 'content-md5', 'if-match', 'if-none-match']) {
    const headers = { ...server.authorization, [header]: '"x"' }
    t.equal((await fetch(server.uploadUrl('/'), { method: 'POST', body: form, headers })).status, 400, header)
  }
})

t.test('uploads obey If-Match and If-None-Match', async t => {
  const server = await startHttp(t)
  const first = await send(server, '/file', 'one', { 'if-none-match': '*' })
  t.equal(first.status, 201)
  const etag = first.etag ?? ''
  const content = () => readFile(join(server.folder, 'file'), 'utf8')
  const refused: [Record<string, string>, Record<string, string>, number][] = [
    [{ 'if-none-match': '*' }, {}, 412],
    [{ 'if-none-match': '*' }, { conflict: 'fail' }, 412],
    [{ 'if-none-match': '*' }, { conflict: 'replace' }, 400],
    [{ 'if-none-match': '*' }, { conflict: 'rename' }, 400],
    [{ 'if-none-match': etag }, {}, 412],
    [{ 'if-none-match': `W/${etag}` }, { conflict: 'replace' }, 412],
    [{ 'if-match': '"other"' }, {}, 412],
    [{ 'if-match': `W/${etag}` }, {}, 412],
    [{ 'if-match': 'nonsense' }, {}, 412],
    [{ 'if-match': etag, 'if-none-match': etag }, {}, 412],
    [{ 'if-match': etag }, { conflict: 'fail' }, 400],
    [{ 'if-match': etag }, { conflict: 'rename' }, 400],
  ]
  for (const [headers, query, status] of refused) {
    t.equal((await send(server, '/file', 'two', headers, query)).status, status, JSON.stringify([headers, query]))
    t.equal(await content(), 'one')
  }
  t.equal((await send(server, '/new', 'x', { 'if-match': '*' })).status, 412, 'there is nothing to replace')
  t.equal((await send(server, '/new', 'x', { 'if-match': etag })).status, 412)
  t.notOk((await readdir(server.folder)).includes('new'))
  t.equal((await send(server, '/other', 'x', { 'if-none-match': etag })).status, 201)
  const second = await send(server, '/file', 'two', { 'if-match': `"x", ${etag}` })
  t.equal(second.status, 201)
  t.equal((await send(server, '/file', 'three', { 'if-match': etag })).status, 412, 'that version is gone')
  t.equal((await send(server, '/file', 'three', { 'if-match': '*' }, { conflict: 'replace' })).status, 201)
  t.equal(await content(), 'three')
})

t.test('one of many uploads that replace the same version succeeds', async t => {
  const server = await startHttp(t)
  for (let round = 0; round < 5; round++) {
    const { etag } = await send(server, '/file', `round ${round}`, {}, { conflict: 'replace' })
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => send(server, '/file', `${round} ${index}`, { 'if-match': etag ?? '' })),
    )
    const counts = Map.groupBy(answers, ({ status }) => status)
    t.equal(counts.get(201)?.length, 1)
    t.equal(counts.get(412)?.length, 7)
  }
})

t.test('a condition is checked again after the body has arrived', async t => {
  const server = await startHttp(t)
  const { etag } = await send(server, '/file', 'one')
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(Buffer.from('mine'))
      await new Promise(resolve => setTimeout(resolve, 50))
      await writeFile(join(server.folder, 'file'), 'from elsewhere')
      controller.close()
    },
  })
  const headers = { ...server.authorization, 'if-match': etag ?? '' }
  const response = await fetch(server.uploadUrl('/file'), {
    method: 'POST',
    body,
    headers,
    duplex: 'half',
  } as RequestInit)
  t.equal(response.status, 412)
  t.equal(await readFile(join(server.folder, 'file'), 'utf8'), 'from elsewhere')
  t.same(
    (await readdir(server.folder)).filter(name => name !== 'file' && !name.startsWith('.')),
    [],
  )
})

/** Stores a SHA-256 with each file, and damages the files that a test names. */
class Summing extends MemoryProvider {
  override readonly traits: Traits & { emptyDirectories: true } = {
    emptyDirectories: true,
    storedChecksum: 'sha256',
  } as const
  readonly sums = new Map<string, string>()
  isDamaging = false

  #with(path: StoragePath, entry: Entry): Entry {
    const sha256 = this.sums.get(path)
    return sha256 && entry.kind === 'file' ? { ...entry, checksums: { sha256 } } : entry
  }

  override async stat(path: StoragePath, call: Call): Promise<Entry> {
    return this.#with(path, await super.stat(path, call))
  }

  override async write(...[path, body, options]: Parameters<MemoryProvider['write']>): Promise<Entry> {
    const hash = createHash('sha256')
    body.on('data', chunk => hash.update(chunk))
    const entry = await super.write(path, body, options)
    this.sums.set(path, this.isDamaging ? hex('sha256', 'damaged') : hash.digest('hex'))
    return this.#with(path, entry)
  }
}

async function startSumming(t: Test): Promise<{ server: HttpServer; provider: Summing; id: string }> {
  const provider = new Summing(64 * 1024 * 1024)
  const adapter: AdapterDefinition = {
    type: 'summing',
    apiVersion: 1,
    title: 'Summing',
    configSchema: { type: 'object', properties: {} },
    open: async () => provider,
  }
  const server = await startHttp(t, { adapters: [adapter] })
  return { server, provider, id: server.others.get('summing') ?? '' }
}

t.test("an upload fails if the back end's checksum differs from the sent bytes", async t => {
  const { server, provider, id } = await startSumming(t)
  const providerId = { providerId: id }
  const status = async (path: string) =>
    (await fetch(server.downloadUrl(path, providerId), { headers: server.authorization })).status
  t.equal((await send(server, '/good', 'x', {}, providerId)).status, 201)
  provider.isDamaging = true
  for (const conflict of ['fail', 'rename']) {
    const answer = await send(server, '/bad', 'x', {}, { ...providerId, conflict })
    t.match(answer, { status: 502, reason: 'BACK_END_FAULT' })
    t.equal(await status('/bad'), 404, 'the damaged file is removed')
  }
  t.equal((await send(server, '/good', 'y', {}, { ...providerId, conflict: 'replace' })).status, 502)
  t.equal(await status('/good'), 200, 'a file that replaced another one stays')
})

t.test('downloads carry the digests that the back end stores', async t => {
  const { server, id } = await startSumming(t)
  await send(server, '/file', 'hello', {}, { providerId: id })
  const url = server.downloadUrl('/file', { providerId: id })
  const sha = `sha-256=:${digest('sha256', 'hello')}:`
  const ask = async (headers: Record<string, string>, method = 'GET') => {
    const response = await fetch(url, { method, headers: { ...server.authorization, ...headers } })
    await response.arrayBuffer()
    return [response.headers.get('content-digest'), response.headers.get('repr-digest')]
  }
  t.same(await ask({}), [null, null], 'nobody asked')
  t.same(await ask({ 'want-content-digest': 'sha-256=1' }), [sha, null])
  t.same(await ask({ 'want-repr-digest': 'sha-512=10, sha-256=1' }), [null, sha])
  t.same(
    await ask({ 'want-repr-digest': 'sha-256=1, sha-256=2;a="b"' }),
    [null, sha],
    'a repeated algorithm is sent once',
  )
  t.same(await ask({ 'want-repr-digest': 'sha-256=1', 'want-content-digest': 'sha-256=3' }, 'HEAD'), [sha, sha])
  t.same(await ask({ 'want-repr-digest': 'sha-256=1', 'want-content-digest': 'sha-256=1', range: 'bytes=0-1' }), [
    null,
    sha,
  ])
  for (const none of [
    'sha-256=0',
    'md5=1',
    'sha-256',
    'sha-256=11',
    '=',
    'constructor=1',
    'sha-256=1,',
    'sha-256=1, ?',
  ]) {
    t.same(await ask({ 'want-repr-digest': none, 'want-content-digest': none }), [null, null], none)
  }
})
