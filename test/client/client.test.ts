/** The TypeScript client against a whole server. */
import { randomBytes } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  type Connection,
  type EarlierVersion,
  forEachAtOnce,
  type Hold,
  ShareLink,
  Stowage,
  type StowageError,
} from '../../packages/client/src/index.ts'
import { startApp } from '../support/app.ts'
import { atNight, extent, isNight } from '../support/extent.ts'
import { makeShare } from '../support/shares.ts'
import { lockInfo } from '../webdav/client.ts'

const mib = 1024 * 1024

const failure = (reason: string, details: object = {}) => ({ name: 'StowageError', reason, ...details })

async function start(t: Test) {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  return { app, token }
}

const file: Test = t
let shared: ReturnType<typeof start> | undefined

/** Returns a server with a disk. By day, the tests share the server. */
async function withDisk(t: Test) {
  if (!isNight) shared ??= start(file)
  const { app, token } = await (shared ?? start(t))
  const root = await mkdtemp(join(app.folder, 'disk-'))
  const providerId = await app.connectProvider(token, 'local', { root })
  return { app, token, providerId, stowage: new Stowage({ url: app.url, credential: token }) }
}

const contentOf = async (body: ReadableStream<Uint8Array>) =>
  Buffer.from(await new Response(body as never).arrayBuffer())

t.test('queries and mutations have types, and errors their reasons', async t => {
  const { app, stowage, providerId } = await withDisk(t)
  const { me } = await stowage.graphql<{ me: { email: string } }>('{ me { email } }')
  t.equal(me.email, 'owner@example.org')
  const create = 'mutation ($input: CreateFolderInput!) { createFolder(input: $input) { path } }'
  const input = { providerId, path: '/new' }
  t.match(await stowage.graphql(create, { input }), { createFolder: { path: '/new' } })
  const refused = stowage.graphql(create, { input: { providerId, path: '/new/../x' } })
  await t.rejects(refused, { name: 'StowageError', code: 'BAD_USER_INPUT', reason: 'INVALID_PATH', retryable: false })
  const connect = `mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { provider { id } } }`
  const unusable = stowage.graphql(connect, { input: { type: 'local', name: 'a', config: { root: 1 } } })
  await t.rejects(unusable, failure('INVALID_CONFIG', { extensions: { properties: ['root'] } }))
  const { openapi } = await (await stowage.request('/openapi.json')).json()
  t.match(openapi, /^3\.1/)
  await t.rejects(stowage.request('/nothing'), failure('NOT_FOUND', { status: 404 }))
  const stranger = new Stowage({ url: app.url })
  await t.rejects(stranger.graphql('{ me { email } }'), failure('CREDENTIAL_REQUIRED', { path: ['me'] }))
  const nobody = new Stowage({ url: 'http://127.0.0.1:1', retries: 0 })
  await t.rejects(nobody.graphql('{ me { email } }'), failure('NETWORK', { retryable: true, status: 0 }))
})

atNight(t, 'versions are listed, downloaded, restored and deleted', async t => {
  const { app, token, stowage, providerId } = await withDisk(t)
  const keep = 'mutation ($input: UpdateProviderInput!) { updateProvider(input: $input) { id } }'
  await app.ask(keep, { input: { id: providerId, versionCount: 5 } }, token)
  const file = { providerId, path: '/a.txt' }
  for (const content of ['one', 'second', 'three'])
    await stowage.files.upload({ ...file, body: new Blob([content]), conflict: 'replace' })
  const versionsOf = async () => {
    const found: EarlierVersion[] = []
    for await (const version of stowage.versions.list(file)) found.push(version)
    return found
  }
  const [newest, oldest] = await versionsOf()
  t.match(newest, { size: 6, replacedBy: 'owner@example.org', replacedAt: Date, modifiedAt: Date, expiresAt: Date })
  const { body, size } = await stowage.files.download({ ...file, version: oldest?.id ?? '' })
  t.same([(await contentOf(body)).toString(), size], ['one', 3])
  t.equal(await stowage.versions.restore(oldest?.id ?? '', { conflict: 'rename' }), '/a (1).txt')
  t.equal(await stowage.versions.restore(newest?.id ?? ''), '/a.txt')
  t.equal((await contentOf((await stowage.files.download(file)).body)).toString(), 'second')
  const [replaced, ...others] = await versionsOf()
  t.match([replaced, others.length], [{ size: 5 }, 0])
  await stowage.versions.delete(replaced?.id ?? '')
  t.same(await versionsOf(), [])
  await t.rejects(stowage.versions.restore(replaced?.id ?? ''), failure('NOT_FOUND'))
})

t.test('holds are created, listed and released, and a lock is ended', async t => {
  const { app, token, stowage, providerId } = await withDisk(t)
  const file = { providerId, path: '/a.txt' }
  await stowage.files.upload({ ...file, body: new Blob(['one']) })
  const replaced = () => stowage.files.upload({ ...file, body: new Blob(['two']), conflict: 'replace' })
  const hold = await stowage.holds.create({ ...file, reason: 'Case 7' })
  const seen = { ...file, reason: 'Case 7', until: null, createdBy: 'owner@example.org', releasedAt: null }
  t.match(hold, { ...seen, createdAt: Date, isObjectLock: false })
  const until = new Date(Date.now() + 60_000)
  const dated = await stowage.holds.create({ providerId, path: '/', reason: 'Audit', until })
  t.same(dated.until, until)
  const holds = async (options = {}) => {
    const found: Hold[] = []
    for await (const each of stowage.holds.list(options)) found.push(each)
    return found
  }
  t.same(await holds({ providerId }), [dated, hold])
  await t.rejects(replaced(), failure('ON_HOLD'))
  t.match(await stowage.holds.release(hold.id), { id: hold.id, releasedAt: Date })
  await t.rejects(stowage.holds.release(dated.id), failure('ON_HOLD'))
  t.same(await holds(), [dated])

  t.equal(await stowage.locks.find(file), null)
  const { provider } = await app.ask('query ($id: ID!) { provider(id: $id) { slug } }', { id: providerId }, token)
  const locking = { method: 'LOCK', headers: { depth: '0' }, body: lockInfo(), token }
  t.equal((await app.request(`/dav/${provider.slug}/a.txt`, locking)).status, 200)
  const lock = await stowage.locks.find(file)
  t.match(lock, { path: '/a.txt', isDeep: false, isExclusive: true, expiresAt: Date })
  t.equal(await stowage.locks.end(file, lock?.id ?? ''), null)
  await t.rejects(stowage.locks.end(file, lock?.id ?? ''), failure('NOT_FOUND'))
})

atNight(t, 'a file of any size and kind of body is stored whole', async t => {
  const { stowage, providerId } = await withDisk(t)
  const sizes = [0, 1, 100_000, 8 * mib, 8 * mib + 1, 20 * mib]
  for (const size of extent({ gate: [0, 1, 8 * mib + 1], nightly: sizes })) {
    const bytes = randomBytes(size)
    for (const kind of ['blob', 'stream'] as const) {
      const path = `/${kind}-${size}.bin`
      const progress: [number, number | null][] = []
      const blob = new Blob([bytes])
      const body = kind === 'blob' ? blob : blob.stream()
      const onProgress = (sent: number, whole: number | null) => void progress.push([sent, whole])
      t.equal(await stowage.files.upload({ providerId, path, body, onProgress }), path)
      t.same(progress.at(-1), [size, size], path)
      const file = await stowage.files.download({ providerId, path })
      t.equal(file.size, size)
      t.ok((await contentOf(file.body)).equals(bytes), path)
    }
  }
  const upload = (conflict: 'fail' | 'rename') =>
    stowage.files.upload({ providerId, path: '/blob-1.bin', body: new Blob(['x']), conflict })
  await t.rejects(upload('fail'), failure('ALREADY_EXISTS', { status: 409 }))
  t.equal(await upload('rename'), '/blob-1 (1).bin')
})

atNight(t, 'chunks grow while the line is stable, and shrink after failures', async t => {
  const { app, token, providerId } = await withDisk(t)
  const bytes = randomBytes(extent({ gate: 26, nightly: 130 }) * mib)
  /**
   * Uploads the file through a line that may answer instead of the server. Resolves with the sizes of the chunks in MiB, of an upload all
   * of whose chunks were fast enough to grow: on a busy machine, one may take longer.
   */
  const sizesThrough = async (path: string, instead: (size: number, chunk: number) => Response | null) => {
    for (;;) {
      const sizes: number[] = []
      let longest = 0
      const line: typeof fetch = async (input, init) => {
        if (init?.method !== 'PATCH' || !(init.body instanceof Blob)) return fetch(input, init)
        sizes.push(init.body.size / mib)
        const start = performance.now()
        const response = instead(init.body.size, sizes.length) ?? (await fetch(input, init))
        longest = Math.max(longest, performance.now() - start)
        return response
      }
      const stowage = new Stowage({ url: app.url, credential: token, fetch: line })
      await stowage.files.upload({ providerId, path, body: new Blob([bytes]), conflict: 'replace' })
      const { body } = await stowage.files.download({ providerId, path })
      t.ok((await contentOf(body)).equals(bytes), path)
      // Chunks grow after one that took less than five seconds.
      if (longest < 4000) return sizes
    }
  }
  const failing = extent({ gate: 2, nightly: 4 })
  const unreliable = (_size: number, chunk: number) => (chunk === failing ? new Response(null, { status: 503 }) : null)
  const expected = extent({ gate: [8, 16, 8, 8, 2], nightly: [8, 16, 32, 64, 32, 32, 10] })
  t.same(await sizesThrough('/unreliable.bin', unreliable), expected)
  if (isNight) {
    t.same(await sizesThrough('/stable.bin', () => null), [8, 16, 32, 64, 10])
    const limited = (size: number) => (size > 20 * mib ? new Response(null, { status: 413 }) : null)
    t.same(await sizesThrough('/limited.bin', limited), [8, 16, 32, 16, 16, 16, 16, 16, 16, 10])
  }
  const refused = sizesThrough('/refused.bin', () => new Response(null, { status: 413 }))
  await t.rejects(refused, { name: 'StowageError', status: 413 })
})

t.test('a transfer continues after broken connections', async t => {
  const { app, token, providerId } = await withDisk(t)
  const bytes = randomBytes(30 * mib)
  let broken = 0
  /** Breaks every third request: before it is sent, or in the middle of its response. */
  let requests = 0
  const unreliable: typeof fetch = async (input, init) => {
    requests += 1
    if (requests % 3 === 0) {
      broken += 1
      throw new TypeError('fetch failed')
    }
    const response = await fetch(input, init)
    if (requests % 3 === 1 || !response.body || init?.method !== undefined) return response
    broken += 1
    return new Response(response.body.pipeThrough(brokenAfter(10 * mib)), response)
  }
  const stowage = new Stowage({ url: app.url, credential: token, fetch: unreliable })
  await stowage.files.upload({ providerId, path: '/large.bin', body: new Blob([bytes]) })
  const { body } = await stowage.files.download({ providerId, path: '/large.bin' })
  t.ok((await contentOf(body)).equals(bytes))
  t.ok(broken >= 3, `${broken} of ${requests} requests broke`)
})

t.test('a download continues although the server cannot be reached for some time', async t => {
  const { app, token, stowage, providerId } = await withDisk(t)
  const bytes = randomBytes(9 * mib)
  await stowage.files.upload({ providerId, path: '/large.bin', body: new Blob([bytes]) })
  let requests = 0
  const unreliable: typeof fetch = async (input, init) => {
    requests += 1
    if (requests === 2 || requests === 3) throw new TypeError('fetch failed')
    const response = await fetch(input, init)
    return requests === 1 ? new Response(response.body?.pipeThrough(brokenAfter(4 * mib)), response) : response
  }
  const unlucky = new Stowage({ url: app.url, credential: token, fetch: unreliable })
  const { body } = await unlucky.files.download({ providerId, path: '/large.bin' })
  t.ok((await contentOf(body)).equals(bytes))
  t.equal(requests, 4)
})

t.test('an error that asks for a long wait is thrown at once', async t => {
  let requests = 0
  const busy: typeof fetch = async () => {
    requests += 1
    const extensions = { code: 'FORBIDDEN', reason: 'RATE_LIMITED', retryable: true, retryAfterMs: 60_000 }
    return Response.json({ errors: [{ message: 'Too many requests.', extensions }] }, { status: 429 })
  }
  const stowage = new Stowage({ url: 'http://localhost', fetch: busy })
  await t.rejects(stowage.graphql('{ me { id } }'), failure('RATE_LIMITED', { retryAfterMs: 60_000 }))
  t.equal(requests, 1)
})

t.test('the caller decides about the retries of an upload', async t => {
  const { app, token, providerId } = await withDisk(t)
  for (const size of [1, 9 * mib]) {
    let failing = 0
    const failures: number[] = []
    const unreliable: typeof fetch = async (input, init) => {
      if (init?.body instanceof Blob && failing < 3) {
        failing += 1
        throw new TypeError('fetch failed')
      }
      return fetch(input, init)
    }
    const stowage = new Stowage({ url: app.url, credential: token, fetch: unreliable, retries: 0 })
    const upload = (most: number) =>
      stowage.files.upload({
        providerId,
        path: `/${size}.bin`,
        body: new Blob([randomBytes(size)]),
        shouldRetry(error, count) {
          failures.push(count)
          return error.reason === 'NETWORK' && count < most
        },
      })
    await t.rejects(upload(2), failure('NETWORK'))
    t.same(failures, [1, 2])
    t.equal(await upload(3), `/${size}.bin`)
  }
})

t.test('a subscription connects again after its connection breaks', async t => {
  const { app, token, stowage, providerId } = await withDisk(t)
  const log: string[] = []
  const controller = new AbortController()
  const shouldRetry = ({ reason }: StowageError) => log.push('lost') > 0 && reason === 'NETWORK'
  const changes = stowage.subscribe<{ entryChanged: { path: string } }, object>(
    'subscription ($providerId: ID!) { entryChanged(providerId: $providerId, path: "/") { path } }',
    { providerId },
    { signal: controller.signal, onOpen: () => log.push('open'), shouldRetry },
  )
  const next = async () => (await changes.next()).value?.entryChanged.path
  t.equal(await next(), '/', 'list the folder now')
  await app.upload(token, providerId, '/a.txt', 'content')
  t.equal(await next(), '/a.txt')
  app.app.server.server.closeAllConnections()
  t.equal(await next(), '/', 'list the folder again')
  await app.upload(token, providerId, '/b.txt', 'content')
  t.equal(await next(), '/b.txt')
  t.same(log, ['open', 'lost', 'open'])
  controller.abort(new Error('enough'))
  await t.rejects(changes.next(), { message: 'enough' })
})

function brokenAfter(length: number): TransformStream<Uint8Array, Uint8Array> {
  let passed = 0
  return new TransformStream({
    transform(chunk, controller) {
      if (passed + chunk.length > length) throw new TypeError('terminated')
      passed += chunk.length
      controller.enqueue(chunk)
    },
  })
}

t.test('an aborted upload continues in another call, and starts again once the server no longer has it', async t => {
  const { app, token, stowage, providerId } = await withDisk(t)
  const body = new Blob([randomBytes(20 * mib)])
  const path = '/large.bin'
  let url = ''
  const interrupt = async () => {
    const controller = new AbortController()
    const onProgress = () => controller.abort()
    const onStart = (started: string) => {
      url = started
    }
    const upload = stowage.files.upload({
      providerId,
      path,
      body,
      signal: controller.signal,
      onProgress,
      resume: { onStart },
    })
    await t.rejects(upload, { name: 'AbortError' })
  }
  const finish = async () => {
    const progress: number[] = []
    const onProgress = (sent: number) => void progress.push(sent / mib)
    const addresses: string[] = []
    const resume = { url, onStart: (started: string) => void addresses.push(started) }
    t.equal(await stowage.files.upload({ providerId, path, body, onProgress, resume }), path)
    const file = await stowage.files.download({ providerId, path })
    t.ok((await contentOf(file.body)).equals(Buffer.from(await body.arrayBuffer())))
    return { progress, isSame: addresses.join() === url }
  }
  await interrupt()
  t.match(url, `${app.url}/api/upload/resumable/`)
  t.same(await finish(), { progress: [8, 16, 20], isSame: true }, 'it begins with the bytes that are stored')
  const remove = 'mutation ($input: DeleteInput!) { delete(input: $input) { deletedPath } }'
  await app.ask(remove, { input: { providerId, path } }, token)

  await interrupt()
  await stowage.files.discardUpload(url)
  t.same(await finish(), { progress: [8, 20], isSame: false })
})

t.test('a server below a path of another site', async t => {
  const app = await startApp(t, { settings: { publicUrl: 'https://example.org/stowage', basePath: '/stowage' } })
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder })
  const stowage = new Stowage({ url: `${app.url}/stowage/`, credential: token })
  for (const size of [1, 9 * mib]) {
    const path = `/${size}.bin`
    t.equal(await stowage.files.upload({ providerId, path, body: new Blob([randomBytes(size)]) }), path)
    const { body } = await stowage.files.download({ providerId, path })
    t.equal((await contentOf(body)).length, size)
  }
})

t.test('a range, an abort and a wrong checksum', async t => {
  const { app, token, stowage, providerId } = await withDisk(t)
  const path = '/letters.txt'
  await stowage.files.upload({ providerId, path, body: new Blob(['abcdefghij'], { type: 'text/plain' }) })
  const part = await stowage.files.download({ providerId, path, range: { start: 2, end: 4 } })
  t.equal((await contentOf(part.body)).toString(), 'cde')
  t.match(part, { size: 3, fileSize: 10 })
  const ignoring: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    headers.delete('range')
    return fetch(input, { ...init, headers })
  }
  const withoutRanges = new Stowage({ url: app.url, credential: token, fetch: ignoring })
  const same = await withoutRanges.files.download({ providerId, path, range: { start: 2, end: 4 } })
  t.equal((await contentOf(same.body)).toString(), 'cde', 'a back end without ranges')
  await t.rejects(stowage.files.download({ providerId, path, range: { start: 99 } }), failure('RANGE_NOT_SATISFIABLE'))

  const controller = new AbortController()
  const reason = new Error('enough')
  const body = new Blob([randomBytes(20 * mib)])
  const onProgress = () => controller.abort(reason)
  const aborted = stowage.files.upload({ providerId, path: '/a.bin', body, signal: controller.signal, onProgress })
  await t.rejects(aborted, reason)
  await t.rejects(stowage.files.download({ providerId, path: '/a.bin' }), failure('NOT_FOUND'))

  const memory = await app.connectProvider(token, 'memory', {})
  await stowage.files.upload({ providerId: memory, path, body: new Blob(['abcdefghij']) })
  const lying: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    const headers = new Headers(response.headers)
    headers.set('repr-digest', `sha-256=:${Buffer.alloc(32).toString('base64')}:`)
    return new Response(response.body, { status: response.status, headers })
  }
  const deceived = new Stowage({ url: app.url, credential: token, fetch: lying })
  const { body: wrong } = await deceived.files.download({ providerId: memory, path })
  await t.rejects(contentOf(wrong), failure('CHECKSUM_MISMATCH'))
})

t.test('a walk finds everything once, and a list only the entries of the folder', async t => {
  const { stowage, providerId } = await withDisk(t)
  const paths = Array.from({ length: 60 }, (_, n) => `/top/${n % 7}/${n % 3}/${n}.txt`)
  await Promise.all(paths.map(path => stowage.files.upload({ providerId, path, body: new Blob([path]) })))
  const names = []
  for await (const { name, kind } of stowage.files.list({ providerId, path: '/top' })) names.push(`${kind} ${name}`)
  t.same(
    names.toSorted(),
    Array.from({ length: 7 }, (_, n) => `folder ${n}`),
  )
  await t.rejects(stowage.files.list({ providerId, path: '/none' }).next(), failure('NOT_FOUND'))
  const found = []
  for await (const entry of stowage.files.walk({ providerId, path: '/top' })) found.push(entry)
  const files = found.filter(({ kind }) => kind === 'file')
  t.same(files.map(({ path }) => path).toSorted(), paths.toSorted())
  t.equal(found.length, new Set(found.map(({ path }) => path)).size)
  t.equal(found.filter(({ kind }) => kind === 'folder').length, 7 + 21)
  t.match(files[0], { providerId, kind: 'file', size: files[0]?.path.length, modifiedAt: Date })
})

t.test('the nodes of a connection come from all of its pages', async t => {
  const { app, token, providerId, stowage } = await withDisk(t)
  const paths = Array.from({ length: 5 }, (_, n) => `/${n}.txt`)
  for (const path of paths) await app.upload(token, providerId, path, 'content')
  const document = `query ($id: ID!, $after: String) { folder(providerId: $id, path: "/") {
    entries(first: 2, after: $after) { nodes { path } pageInfo { hasNextPage endCursor } }
  } }`
  type Result = { folder: { entries: Connection<{ path: string }> } }
  const found: string[] = []
  for await (const { path } of stowage.nodes(document, { id: providerId }, ({ folder }: Result) => folder.entries))
    found.push(path)
  t.same(found.toSorted(), paths)
})

t.test('work at once has a limit and ends before its first error is thrown', async t => {
  async function* numbers() {
    for (let number = 0; ; number += 1) yield number
  }
  let [running, most, done] = [0, 0, 0]
  const work = async (number: number) => {
    running += 1
    most = Math.max(most, running)
    await setImmediate()
    running -= 1
    done += 1
    if (number === 9) throw new Error('Number nine.')
  }
  await t.rejects(forEachAtOnce(numbers(), 3, work), { message: 'Number nine.' })
  t.match([most, running], [3, 0])
  t.ok(done <= 12)
})

t.test('waiting for a job reports its progress and its end', async t => {
  const { app, token, stowage, providerId } = await withDisk(t)
  const target = await app.connectProvider(token, 'memory', {})
  for (let n = 0; n < 20; n++) await stowage.files.upload({ providerId, path: `/f/${n}.txt`, body: new Blob([`${n}`]) })
  const create = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  const sources = [{ providerId, path: '/f' }]
  const input = { kind: 'COPY', sources, target: { providerId: target, path: '/' } }
  const { createJob } = await stowage.graphql<{ createJob: { job: { id: string } } }, object>(create, { input })
  const states: string[] = []
  const job = await stowage.jobs.wait(createJob.job.id, { onProgress: ({ state }) => void states.push(state) })
  t.match(job, { state: 'SUCCEEDED', error: null, progress: { files: 20, failed: 0 } })
  t.equal(states.at(-1), 'SUCCEEDED')
  await t.rejects(stowage.jobs.wait('00000000-0000-4000-8000-000000000000'), failure('NOT_FOUND'))
})

t.test('a share link is used without an account', async t => {
  const { app, token, stowage, providerId } = await withDisk(t)
  const bytes = randomBytes(9 * mib)
  await stowage.files.upload({ providerId, path: '/top/sub/large.bin', body: new Blob([bytes]) })
  const password = 'p\u00e4ssword \u2713'
  const view = await makeShare(app, token, { providerId, path: '/top', password })
  await t.rejects(new ShareLink({ link: view.url }).describe(), failure('SHARE_PASSWORD_REQUIRED'))
  const link = new ShareLink({ link: view.url, password })
  t.match(await link.describe(), { kind: 'VIEW', name: 'top', isFolder: true, hasPassword: true })
  const entries = []
  for await (const entry of link.list()) entries.push(entry)
  t.match(entries, [{ kind: 'folder', name: 'sub', path: '/sub', size: null }])
  for await (const entry of link.list('/sub')) t.match(entry, { kind: 'file', size: 9 * mib, modifiedAt: Date })
  const { body, size } = await link.download('/sub/large.bin')
  t.equal(size, 9 * mib)
  t.ok((await contentOf(body)).equals(bytes))
  const part = await link.download('/sub/large.bin', { range: { start: 5, end: 9 } })
  t.ok((await contentOf(part.body)).equals(bytes.subarray(5, 10)))
  t.match((await contentOf((await link.download('/')).body)).toString('latin1'), /^PK/)
  t.match((await contentOf(await link.archive(['/sub/large.bin', '/sub']))).toString('latin1'), /^PK/)
  await t.rejects(link.archive(['/none']), failure('NOT_FOUND'))
  await t.rejects(link.upload('/x', { body: new Blob(['x']) }), failure('SCOPE_REQUIRED'))
  await t.rejects(link.list('/none').next(), failure('NOT_FOUND'))
  const dropped = new ShareLink({ link: (await makeShare(app, token, { providerId, path: '/top', kind: 'DROP' })).url })
  t.equal(await dropped.upload('/new.bin', { body: new Blob([bytes]) }), '/new.bin')
  t.equal(await dropped.upload('/new.bin', { body: new Blob(['x']) }), '/new.bin', 'nobody learns that a name is taken')
  const stored = []
  for await (const { name } of stowage.files.list({ providerId, path: '/top' })) stored.push(name)
  t.same(stored.toSorted(), ['new (1).bin', 'new.bin', 'sub'])
  await t.rejects(dropped.list().next(), failure('SCOPE_REQUIRED'))
  t.throws(() => new ShareLink({ link: app.url }), TypeError)
})
