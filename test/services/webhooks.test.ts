/** Webhooks: which messages arrive, how they are signed and repeated, and when a webhook ends. */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { isWithin, parsePath } from '../../src/auth/path.ts'
import { deliverySchedule, retryDelay } from '../../src/lib/retry.ts'
import { payloadOf, signedHeaders } from '../../src/services/webhooks/messages.ts'
import { isSigned, startReceiver } from '../servers/receiver.ts'
import { startApp, type TestAppOptions } from '../support/app.ts'
import type { Data } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'

const create =
  'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { webhook { id enabled } secret } }'
const show = `query ($id: ID!) { webhook(id: $id) { enabled error events location { path } deliveries {
  nodes { id type state attempts status error nextAttemptAt endedAt } } } }`
const everyEvent = ['FILE_UPLOADED', 'FOLDER_CREATED', 'ENTRY_RENAMED', 'ENTRY_MOVED', 'ENTRY_COPIED', 'ENTRY_DELETED']

async function setUp(t: Test, options: TestAppOptions = {}) {
  const app = await startApp(t, options)
  const { token: owner } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(owner, 'memory', {})
  const receiver = await startReceiver(t)
  async function webhook(input: object = {}, token = owner): Promise<{ id: string; secret: string }> {
    const given = { name: 'hook', url: receiver.url, events: everyEvent, ...input }
    const { createWebhook } = await app.ask(create, { input: given }, token)
    return { id: createWebhook.webhook.id, secret: createWebhook.secret }
  }
  const change = (name: string, input: object) =>
    app.ask(
      `mutation ($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename } }`,
      { input },
      owner,
    )
  return {
    app,
    owner,
    providerId,
    receiver,
    webhook,
    change,
    at: (path: string) => ({ providerId, path }),
    upload: (path: string) => app.upload(owner, providerId, path, 'content'),
    show: async (id: string): Promise<Data> => (await app.ask(show, { id }, owner)).webhook,
    /** Makes pending deliveries due. */
    hurry: () => sql`update webhook_deliveries set next_attempt_at = now() where ended_at is null`.execute(app.db),
  }
}

t.test('signatures are those of Standard Webhooks', async t => {
  // The example of https://docs.svix.com/receiving/verifying-payloads/how-manual
  const signing = { current: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', previous: null }
  const message = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    at: new Date(1_614_265_330_000),
    body: '{"test": 2432232314}',
  }
  t.same(signedHeaders(signing, message), {
    'webhook-id': message.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

t.test('each event causes one signed message', async t => {
  const { app, owner, providerId, receiver, webhook, change, at, upload } = await setUp(t)
  const { id, secret } = await webhook({ events: [...everyEvent, 'JOB_ENDED', 'API_KEY_CREATED'] })
  await upload('/a')
  await change('createFolder', at('/folder'))
  await change('rename', { ...at('/a'), name: 'b' })
  await change('move', { ...at('/b'), toPath: '/folder/b' })
  await change('copy', { ...at('/folder/b'), toPath: '/c' })
  await change('delete', at('/c'))
  await change('createJob', { kind: 'DELETE', sources: [at('/folder')] })
  await app.createKey(owner, { name: 'k', scopes: ['read'] })
  const uploaded = await receiver.first('file.uploaded')
  t.match(uploaded.payload.data, {
    user: { email: 'owner@example.org' },
    credential: { kind: 'SESSION' },
    location: { providerId, providerName: 'memory', path: '/a' },
    to: null,
    bytes: 7,
  })
  t.ok(Math.abs(Date.parse(uploaded.payload.timestamp) - Date.now()) < 60_000)
  t.equal(uploaded.headers['content-type'], 'application/json')
  const to = async (type: string) => (await receiver.first(type)).payload.data
  t.match(await to('folder.created'), { location: { path: '/folder' } })
  t.match(await to('entry.renamed'), { location: { path: '/a' }, to: { path: '/b' } })
  t.match(await to('entry.moved'), { location: { path: '/b' }, to: { path: '/folder/b' } })
  t.match(await to('entry.copied'), { location: { path: '/folder/b' }, to: { path: '/c' } })
  t.match(await to('entry.deleted'), { location: { path: '/c' } })
  t.match(await to('job.ended'), { job: { kind: 'DELETE', state: 'SUCCEEDED', deleted: 2 }, subject: { kind: 'JOB' } })
  t.match(await to('api_key.created'), { location: null, subject: { kind: 'API_KEY' } })
  t.ok(receiver.messages.every(message => isSigned(message, secret)))
  const ids = receiver.messages.map(({ headers }) => headers['webhook-id'])
  t.equal(new Set(ids).size, ids.length)
  t.equal(ids.length, 8)
  t.notMatch(receiver.messages.map(({ body }) => body).join(), /127\.0\.0\.1/, 'no address of a client')
  const { deliveries } = (await app.ask(show, { id }, owner)).webhook
  t.equal(deliveries.nodes.length, 8)
  t.match(deliveries.nodes[0], { state: 'DELIVERED', attempts: 1, status: 204, error: null, nextAttemptAt: null })
})

atNight(t, 'a webhook gets the events of its location only', async t => {
  const { app, owner, providerId, receiver, webhook, change, at, upload } = await setUp(t)
  await webhook({ location: at('/team') })
  await upload('/other')
  await upload('/team-b/file')
  await upload('/team/file')
  await change('move', { ...at('/team/file'), toPath: '/secret/name' })
  await change('copy', { ...at('/other'), toPath: '/team/copy' })
  await change('delete', at('/other'))
  await change('createFolder', at('/team/end'))
  t.match((await receiver.first('entry.moved')).payload.data, { location: { path: '/team/file' }, to: null })
  t.match((await receiver.first('entry.copied')).payload.data, { location: null, to: { path: '/team/copy' } })
  await receiver.first('folder.created')
  t.equal(receiver.messages.length, 4)
  t.notMatch(receiver.messages.map(({ body }) => body).join(), /secret|team-b|other/)

  const scopes = ['admin']
  const providerAccess = { restrictions: [{ providerId, basePath: '/team' }] }
  const { key } = await app.createKey(owner, { name: 'narrow', scopes, providerAccess })
  for (const [location, reason] of [
    [null, 'PROVIDER_NOT_ALLOWED'],
    [at('/'), 'OUTSIDE_BASE_PATH'],
    [at('/team-b'), 'OUTSIDE_BASE_PATH'],
  ]) {
    const input = { name: 'hook', url: receiver.url, events: everyEvent, location }
    t.match((await app.graphql(create, { input }, key)).errors, [{ extensions: { reason } }])
  }
  await webhook({ location: at('/team/end') }, key)
  t.equal((await app.ask('{ webhooks { id } }', {}, key)).webhooks.length, 1, 'not the webhook of the session at /team')
})

t.test('a message names only paths within the location of its webhook, and no counts or bytes of others', async () => {
  const names = fc.array(fc.constantFrom('a', 'b', 'ab', 'a b'), { maxLength: 4 })
  const path = names.map(each => `/${each.join('/')}`)
  const providerId = fc.constantFrom('p', 'q')
  const location = fc.option(fc.record({ providerId, path }))
  const others = fc.array(fc.record({ providerId, path }), { maxLength: 2 })
  const action = fc.constantFrom('MOVE' as const, 'JOB_END' as const)
  const from = fc.record({ providerId: fc.option(providerId), path: fc.option(path) })
  fc.assert(
    fc.property(location, from, from, others, action, (within, a, b, more, action) => {
      const job = { sources: 1 + more.length, otherSources: more, kind: 'COPY', state: 'SUCCEEDED', files: 7 }
      const details = action === 'JOB_END' ? job : {}
      const to = { toProviderId: b.providerId, toPath: b.path }
      const event = { at: '2026-01-01T00:00:00Z', ...a, ...to, bytes: 7, details }
      const { data } = payloadOf({ location: within }, { id: 'x', action, event: event as never })
      const isOwn = (at: { providerId: string | null; path: string | null }) =>
        at.providerId === null ||
        within === null ||
        (at.providerId === within.providerId && isWithin(parsePath(at.path ?? '/'), parsePath(within.path)))
      const isWhole = [a, b, ...(action === 'JOB_END' ? more : [])].every(isOwn)
      return (
        [data.location, data.to].every(shown => shown === null || isOwn(shown)) &&
        data.bytes === (isWhole ? 7 : null) &&
        (action === 'MOVE' || (data.job?.state === 'SUCCEEDED' && data.job?.files === (isWhole ? 7 : undefined)))
      )
    }),
    { numRuns: 5000 },
  )
})

atNight(t, 'a failed delivery is retried for days, and can be sent again after that', async t => {
  const { app, owner, receiver, webhook, upload, show, hurry } = await setUp(t)
  const { id } = await webhook()
  receiver.responds = { status: 503, headers: { 'retry-after': '3000' } }
  await upload('/a')
  const latest = async () => (await show(id)).deliveries.nodes[0]
  await until(async () => (await latest())?.attempts === 1)
  const first = await latest()
  t.match(first, { state: 'PENDING', status: 503, error: 'The receiver responded with the status 503.', endedAt: null })
  t.ok(Date.parse(first.nextAttemptAt) - Date.now() > 2_900_000, 'Retry-After is obeyed')
  receiver.responds = { status: 302, headers: { location: receiver.url } }
  await hurry()
  await until(async () => (await latest()).attempts === 2)
  // The attempts between are like the second one.
  await sql`update webhook_deliveries set attempts = 11`.execute(app.db)
  await hurry()
  await until(async () => (await latest()).attempts === 12)
  const dead = await latest()
  t.match(dead, { state: 'FAILED', attempts: 12, status: 302, nextAttemptAt: null })
  t.ok(dead.endedAt)
  t.equal(receiver.messages.length, 3, 'redirects are not followed')
  const replay = 'mutation ($input: ReplayDeliveriesInput!) { replayDeliveries(input: $input) }'
  receiver.responds = { status: 200 }
  const again = (deliveryIds: string[] | null) => app.ask(replay, { input: { webhookId: id, deliveryIds } }, owner)
  t.same(await again([randomUUID()]), { replayDeliveries: 0 })
  t.same(await again(null), { replayDeliveries: 1 })
  await until(async () => (await latest()).state === 'DELIVERED')
  t.same(await again(null), { replayDeliveries: 0 }, 'nothing has failed any more')
  t.same(await again([dead.id]), { replayDeliveries: 1 }, 'a delivery that succeeded can be sent again, too')
  await until(() => receiver.messages.length === 5)
  t.equal(new Set(receiver.messages.map(({ headers }) => headers['webhook-id'])).size, 1, 'always with the same id')
})

t.test('the delays grow to a day and end after three days', async t => {
  const delays: number[] = []
  for (let failures = 1; ; failures++) {
    const delay = retryDelay(deliverySchedule, failures, 0, () => 0.5)
    if (delay === null) break
    delays.push(delay)
  }
  t.same(
    delays,
    delays.toSorted((a, b) => a - b),
  )
  t.ok(delays[0] && delays[0] <= 10)
  const days = delays.reduce((sum, delay) => sum + delay, 0) / 86_400
  t.ok(days > 2 && days < 4, `${days} days`)
  t.equal(retryDelay(deliverySchedule, 1, 500), 500)
})

atNight(t, 'two replicas deliver each event once, and one takes over what a killed one has claimed', async t => {
  const { app, receiver, webhook, upload, show, hurry } = await setUp(t, { settings: { workers: 0 } })
  const { id } = await webhook()
  const paths = Array.from({ length: 60 }, (_, n) => `/file-${n}`)
  await Promise.all(paths.map(upload))
  const waiting = async () => {
    const { rows } = await sql<{ count: string }>`select count(*) from webhook_deliveries`.execute(app.db)
    return Number(rows[0]?.count)
  }
  await until(async () => (await waiting()) === 60)
  await sql`update webhook_deliveries set claim_id = ${randomUUID()}, next_attempt_at = now() + interval '60 s'
    where id in (select id from webhook_deliveries limit 10)`.execute(app.db)
  await Promise.all([app.replica({ settings: { workers: 1 } }), app.replica({ settings: { workers: 1 } })])
  const delivered = async () => {
    const done = sql<{ count: string }>`select count(*) from webhook_deliveries where state = 'DELIVERED'`
    return Number((await done.execute(app.db)).rows[0]?.count)
  }
  // A delivery whose message has arrived belongs to its server until its outcome is stored: only the claims of the killed server end.
  await until(async () => (await delivered()) === 50)
  await hurry()
  await until(() => receiver.messages.length >= 60)
  await until(async () => (await show(id)).deliveries.nodes.every(({ state }: Data) => state === 'DELIVERED'))
  const got = receiver.messages.map(({ payload }) => (payload.data.location as unknown as { path: string }).path)
  t.same(got.toSorted(), paths.toSorted())
})

t.test('the outbox is filled in the transaction of the change', async t => {
  const { app, owner, webhook } = await setUp(t, { settings: { workers: 0 } })
  const { id } = await webhook({ events: ['API_KEY_CREATED'] })
  await app.createKey(owner, { name: 'k', scopes: ['read'] })
  // No wait: the event of the key is in the outbox when the response arrives.
  const count = await sql<{ count: string }>`select count(*) from webhook_deliveries where webhook_id = ${id}`.execute(
    app.db,
  )
  t.equal(count.rows[0]?.count, '1')
})

atNight(t, 'a webhook is disabled when its creator loses access, and when the receiver is gone', async t => {
  const { app, owner, receiver, webhook, at, upload, show } = await setUp(t)
  const ofKey = await app.createKey(owner, { name: 'k', scopes: ['admin'] })
  const admin = await app.register('admin@example.org')
  const update = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
  const role = (role: string) =>
    app.ask(update, { input: { userId: admin.id, role, providerAccess: { all: true } } }, owner)
  await role('ADMIN')
  const ended = [
    await webhook({}, ofKey.key),
    await webhook({ location: at('/a') }, admin.token),
    await webhook({ url: `${receiver.url}?gone` }),
  ]
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: ofKey.id }, owner)
  await role('EDITOR')
  receiver.responds = { status: 410 }
  await upload('/a')
  for (const { id } of ended) await until(async () => (await show(id)).enabled === false)
  const errors = await Promise.all(ended.map(async ({ id }) => (await show(id)).error))
  t.match(errors, [/revoked/, /scope "admin"/, /410/])
  t.equal(receiver.messages.length, 1, 'only the receiver that is gone got a message')
  await upload('/a/later')
  const [, , gone] = ended
  receiver.responds = { status: 200 }
  const enable = 'mutation ($input: UpdateWebhookInput!) { updateWebhook(input: $input) { enabled error } }'
  t.match(await app.graphql('mutation ($id: ID!) { testWebhook(id: $id) { id } }', { id: gone?.id }, owner), {
    errors: [{ extensions: { reason: 'PRECONDITION_FAILED' } }],
  })
  const enabled = await app.ask(enable, { input: { id: gone?.id, enabled: true } }, owner)
  t.same(enabled.updateWebhook, { enabled: true, error: null })
  await until(() => receiver.messages.length === 2)
  await until(async () =>
    (await show(gone?.id ?? '')).deliveries.nodes.every(({ state }: Data) => state === 'DELIVERED'),
  )
  await app.app.services.audit.flush()
  const events = await app.ask(
    '{ auditEvents(filter: { action: WEBHOOK_UPDATE }) { nodes { result subjectId } } }',
    {},
    owner,
  )
  t.same(events.auditEvents.nodes.map(({ result }: Data) => result).toSorted(), [
    'KEY_REVOKED',
    'NOT_FOUND',
    'OK',
    'SCOPE_REQUIRED',
  ])
})

atNight(t, 'a rotated secret signs beside the previous one, and a test shows it', async t => {
  const { app, owner, receiver, webhook } = await setUp(t)
  const { id, secret } = await webhook()
  const rotate = 'mutation ($id: ID!) { rotateWebhookSecret(id: $id) { secret } }'
  const { rotateWebhookSecret } = await app.ask(rotate, { id }, owner)
  t.not(rotateWebhookSecret.secret, secret)
  const run = await app.ask('mutation ($id: ID!) { testWebhook(id: $id) { id type state } }', { id }, owner)
  t.match(run.testWebhook, { type: 'webhook.test', state: 'PENDING' })
  const message = await receiver.first('webhook.test')
  t.equal(message.headers['webhook-id'], run.testWebhook.id)
  t.ok(isSigned(message, secret))
  t.ok(isSigned(message, rotateWebhookSecret.secret))
  const previous = { secret, until: new Date(0).toISOString() }
  const headers = signedHeaders({ current: rotateWebhookSecret.secret, previous }, { id, at: new Date(), body: '' })
  t.notMatch(headers['webhook-signature'], / /, 'the previous secret ends after a day')
})

t.test('addresses are checked when the webhook is created and when it connects', async t => {
  const { app, owner, webhook, show } = await setUp(t)
  for (const url of [
    'ftp://example.org',
    'not a url',
    'https://me:secret@example.org/',
    `https://a/${'x'.repeat(2000)}`,
  ]) {
    const input = { name: 'hook', url, events: everyEvent }
    t.match(
      (await app.graphql(create, { input }, owner)).errors,
      [{ extensions: { reason: 'INVALID_INPUT' } }],
      url.slice(0, 40),
    )
  }
  const results: [string, RegExp][] = [
    ['http://169.254.169.254/latest', /closed: see STOWAGE_ALLOW_NETWORKS/],
    ['http://127.0.0.1:1/', /connection to the receiver failed/],
  ]
  for (const [url, error] of results) {
    const { id } = await webhook({ url })
    await app.ask('mutation ($id: ID!) { testWebhook(id: $id) { id } }', { id }, owner)
    await until(async () => (await show(id)).deliveries.nodes[0]?.attempts === 1)
    t.match((await show(id)).deliveries.nodes[0], { state: 'PENDING', status: null, error })
  }
})

atNight(t, 'a workspace has a bounded number of webhooks, also for requests at once', async t => {
  const { app, owner, receiver } = await setUp(t)
  const replica = await app.replica()
  const input = { name: 'hook', url: receiver.url, events: everyEvent }
  const results = await Promise.all(
    Array.from({ length: 110 }, (_, n) => (n % 2 === 0 ? app : replica).graphql(create, { input }, owner)),
  )
  const refused = results.flatMap(({ errors = [] }) => errors.map(({ extensions }) => extensions.reason))
  t.same(refused, Array(10).fill('TOO_MANY_WEBHOOKS'))
  const { webhooks } = await app.ask('{ webhooks { id } }', {}, owner)
  t.equal(webhooks.length, 100)
  t.same(await app.ask('mutation ($id: ID!) { deleteWebhook(id: $id) }', { id: webhooks[0].id }, owner), {
    deleteWebhook: true,
  })
})
