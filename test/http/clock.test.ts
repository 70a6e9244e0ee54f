/**
 * Sets the server's clock forward and back while the database's clock continues. The promises:
 * - Unfinished uploads, their leases and rate limits use the database's clock or elapsed time (`performance.now`), so the
 *   server's clock does not affect them.
 * - Sessions, keys and links expire by the server's clock. A clock that is ahead only makes them expire too early: they work
 *   again once the clock is right.
 *
 * Pauses the server, too: an upload that no other server has taken continues.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startApp } from '../support/app.ts'
import { pausableClock, steppedClock } from '../support/clock.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { metadataHeader, type TusTarget, tus, tusPath } from './tus.ts'

const hour = 60 * 60 * 1000
const day = 24 * hour
const mib = 1024 * 1024

/** Starts two servers with a clock that `step` sets, and creates an upload of `size` bytes. */
async function startWithUpload(t: Test, size: number) {
  const step = steppedClock(t)
  const app = await startApp(t)
  const replica = await app.replica()
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder })
  const target: TusTarget = { url: app.url, token, metadata: { providerId, path: '/file' } }
  const headers = { 'upload-length': `${size}`, 'upload-metadata': metadataHeader(target.metadata) }
  const url = (await tus(target, 'POST', tusPath, headers)).headers.get('location') ?? ''
  return { step, app, replica, token, providerId, target, url }
}

t.test('a change of the clock does not expire an unfinished upload', async t => {
  const bytes = randomBytes(3 * mib)
  const { step, app, replica, token, providerId, target, url } = await startWithUpload(t, bytes.length)
  let offset = 0
  for (const [index, jump] of [2 * day, -2 * day, -30 * day].entries()) {
    step(jump)
    await Promise.all([app, replica].map(({ app }) => app.services.uploads.sweep(new AbortController().signal)))
    const head = await tus({ ...target, url: replica.url }, 'HEAD', url)
    t.equal(head.status, 200, `${jump / day} days`)
    t.equal(head.headers.get('upload-offset'), `${offset}`)
    const end = (index + 1) * mib
    const sent = await tus(target, 'PATCH', url, { 'upload-offset': `${offset}` }, bytes.subarray(offset, end))
    t.equal(sent.status, 204)
    offset = end
  }
  const stored = await app.download(token, providerId, '/file')
  t.ok(Buffer.from(await stored.arrayBuffer()).equals(bytes))
})

atNight(t, 'a change of the clock does not end the lease on an upload', async t => {
  const { step, app, replica, token, url } = await startWithUpload(t, 2 * mib)
  const viewer = await app.app.services.credentials.authenticate(token, { address: '', requestId: '' })
  const id = url.split('/').at(-1) ?? ''
  const lease = await app.app.services.uploads.open(viewer, id, AbortSignal.timeout(10_000))
  for (const jump of [2 * day, -2 * day]) {
    step(jump)
    const taken = replica.app.services.uploads.open(viewer, id, AbortSignal.timeout(700))
    // A wait rejects with the signal's reason, or with the AbortError of the timer that the signal stopped.
    await t.rejects(taken, { name: /^(?:AbortError|TimeoutError)$/ }, 'the upload is still leased')
  }
  await lease[Symbol.asyncDispose]()
  const next = await replica.app.services.uploads.open(viewer, id, AbortSignal.timeout(10_000))
  await next[Symbol.asyncDispose]()
})

atNight(t, 'a change of the clock does not reset rate limits', async t => {
  const step = steppedClock(t)
  const app = await startApp(t, { settings: { rateLimit: 10 } })
  const replica = await app.replica()
  const { token } = await app.register('owner@example.org')
  const statusAt = async (server: typeof app) => (await server.graphql('{ me { email } }', {}, token)).status
  await until(async () => (await statusAt(app)) === 429)
  // Replicas share their counts after a short delay.
  await until(async () => (await statusAt(replica)) === 429)
  for (const jump of [2 * hour, -2 * hour, 0]) {
    step(jump)
    for (const server of [app, replica]) t.equal(await statusAt(server), 429, `${jump / hour} hours`)
  }
})

t.test('sessions, keys and links expire by the clock and work again once it is right', async t => {
  const step = steppedClock(t)
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder })
  await app.upload(token, providerId, '/file', 'content')
  const expiresAt = new Date(Date.now() + hour).toISOString()
  const { key } = await app.createKey(token, { name: 'k', scopes: ['read'], expiresAt })
  const query = `query ($providerId: ID!) { file(providerId: $providerId, path: "/file") {
    downloadUrl(expiresIn: 3600) } }`
  const { file } = await app.ask(query, { providerId }, token)
  const link = new URL(file.downloadUrl, app.url)
  const statuses = async () => {
    const responses = [
      await app.download(token, providerId, '/file'),
      await app.download(key, providerId, '/file'),
      await fetch(new URL(link.pathname + link.search, app.url)),
    ]
    return Promise.all(responses.map(async response => (await response.arrayBuffer()) && response.status))
  }
  const good = [200, 200, 200]
  t.same(await statuses(), good)
  for (const [jump, expected] of [
    [2 * hour, [200, 401, 401]],
    [0, good],
    [30 * day, [401, 401, 401]],
    [-30 * day, good],
    [0, good],
  ] as const) {
    step(jump)
    t.same(await statuses(), expected, `${jump / hour} hours`)
  }
})

atNight(t, 'after a pause of the server, an upload ends only if another server has taken it', async t => {
  const pause = pausableClock(t)
  const { app, token, url } = await startWithUpload(t, 4 * mib)
  const lease = async () => {
    const { rows } = await sql<{ until: string | null }>`select lease_until::text as until from uploads`.execute(app.db)
    return rows[0]?.until ?? null
  }
  const renewal = async () => {
    const before = await lease()
    await until(async () => (await lease()) !== before)
  }
  const twice = async () => {
    // The first one may have been on its way before the pause.
    await renewal()
    await renewal()
  }
  /** Sends a half of the upload, and pauses the server in the middle of it. */
  const send = async (offset: number, duringPause: () => Promise<unknown>) => {
    const sending = request(new URL(url, app.url), {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${token}`,
        'tus-resumable': '1.0.0',
        'content-type': 'application/offset+octet-stream',
        'upload-offset': `${offset}`,
        'content-length': `${2 * mib}`,
      },
    })
    sending.on('error', () => {})
    const answered = once(sending, 'response').then(([{ statusCode }]) => statusCode)
    sending.write(randomBytes(mib))
    await until(async () => (await lease()) !== null)
    // What has arrived is stored by then, which renews the lease, too.
    await twice()
    pause(9000)
    await duringPause()
    sending.end(randomBytes(mib))
    return answered
  }
  t.equal(await send(0, twice), 204)
  const take = () => sql`update uploads set lease_id = gen_random_uuid()`.execute(app.db)
  t.equal(await send(2 * mib, take), 423)
})
