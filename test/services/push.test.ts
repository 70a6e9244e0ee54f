/** Push notifications, through a push service that decrypts them as a browser does. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { encrypt } from '../../src/services/push/encryption.ts'
import { maxPushSubscriptions } from '../../src/services/push/index.ts'
import { type FakeBrowser, startPushService } from '../servers/push-service.ts'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { drop, makeShare, read } from '../support/shares.ts'
import { until } from '../support/until.ts'

const bytes = (text: string) => Buffer.from(text, 'base64url')

t.test('a message is encrypted as in the example of RFC 8291, section 5', async t => {
  const receiver = {
    publicKey: bytes('BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'),
    auth: bytes('BTBZMqHH6r4Tts7J_aSIgg'),
  }
  const privateKey = bytes('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw')
  const fixed = { privateKey, salt: bytes('DGv6ra1nlYgDCS1FRnbzlw'), padding: 1 }
  t.equal(
    encrypt(Buffer.from('When I grow up, I want to be a watermelon'), receiver, fixed).toString('base64url'),
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
  )
})

const service = await startPushService(t)
const app = await startApp(t, { publicNetworks: {}, settings: { push: { isEnabled: true, contact: null } } })
const owner = await app.register('owner@example.org')
const providerId = await app.connectProvider(owner.token, 'local', { root: app.folder }, 'Disk')
await mkdir(join(app.folder, 'in box'))
await writeFile(join(app.folder, 'plan.txt'), 'plan')

const creation = `mutation ($input: CreatePushSubscriptionInput!) {
  createPushSubscription(input: $input) { id events current lastUsedAt } }`
const subscriptions = 'query { pushSubscriptions { id events current userAgent createdAt lastUsedAt } }'
const testing = 'mutation ($id: ID!) { testPushSubscription(id: $id) }'
const { pushPublicKey: serverKey } = await app.ask('{ pushPublicKey }', {}, owner.token)

const joined = async (email: string, role = 'EDITOR', providerAccess: object = { all: true }) => {
  const query = `mutation ($role: Role!, $access: ProviderAccessInput) {
    createInvite(input: { role: $role, providerAccess: $access }) { invite } }`
  const { createInvite } = await app.ask(query, { role, access: providerAccess }, owner.token)
  return app.register(email, { invite: createInvite.invite })
}
const signIn = async (email: string): Promise<string> =>
  (
    await app.ask('mutation ($input: LoginInput!) { login(input: $input) { token } }', {
      input: { email, password },
    })
  ).login.token
const subscribe = async (token: string, input: object = {}, browser = service.subscribe(serverKey)) => {
  const made = (await app.ask(creation, { input: { ...browser, ...input } }, token)).createPushSubscription
  return { ...made, browser, token } as { id: string; events: string[]; browser: FakeBrowser; token: string }
}
const refusal = async (input: object, token = owner.token, at = app) =>
  (await at.graphql(creation, { input: { ...service.subscribe(serverKey), ...input } }, token)).errors[0]?.extensions
    .reason
const list = async (token: string) => (await app.ask(subscriptions, {}, token)).pushSubscriptions
const sentTo = ({ endpoint }: FakeBrowser) => service.messages.filter(message => message.endpoint === endpoint)
const arrived = async (browser: FakeBrowser, count = 1) => {
  await until(() => sentTo(browser).length >= count || sentTo(browser).length)
  return sentTo(browser).map(({ note }) => note)
}
const waiting = () => app.db.selectFrom('push_messages').selectAll().orderBy('id').execute()
const isEmpty = () => until(async () => (await waiting()).length === 0 || (await waiting()).length)
const makeDue = () => sql`update push_messages set next_attempt_at = now()`.execute(app.db)

t.test('a browser gets a test, which its push service cannot read', async t => {
  const { id, browser } = await subscribe(owner.token, { language: 'pt' })
  t.equal(service.probes, 1, 'the server has looked whether it reaches the service')
  await app.ask(testing, { id }, owner.token)
  const [note] = await arrived(browser)
  t.same(note, {
    title: 'As notificações funcionam neste navegador',
    body: '',
    path: '/settings/notifications',
    tag: 'TEST ',
    language: 'pt',
    direction: 'ltr',
  })
  const [message] = sentTo(browser)
  t.match(message?.headers, { ttl: '86400', urgency: 'high', 'content-encoding': 'aes128gcm' })
  t.equal(message?.size, 86 + 1024 + 16, 'the length says nothing')
  await until(async () => (await list(owner.token))[0].lastUsedAt !== null)
  await isEmpty()
  const { rows } = await sql<{ text: string }>`select push_keys::text as text from push_keys`.execute(app.db)
  t.equal(rows.length, 1)
  t.match(rows[0]?.text, bytes(serverKey).toString('hex'))
  const events = await app.db.selectFrom('audit_events').select(['action', 'details']).execute()
  t.match(
    events.filter(({ action }) => action === 'PUSH_SUBSCRIBE'),
    [{ details: { subscriptionId: id, host: new URL(browser.endpoint).host } }],
  )
  t.notMatch(JSON.stringify(events), browser.endpoint.slice(-36), 'nothing keeps the address but the subscription')
})

atNight(t, 'the person hears of jobs, arrivals and downloads, in their language', async t => {
  const { token } = await joined('mia@example.org')
  await app.ask('mutation { updateProfile(input: { language: "de" }) { id } }', {}, token)
  const { id, browser } = await subscribe(token, { language: 'fr' })
  const job = { kind: 'COPY', sources: [{ providerId, path: '/plan.txt' }], target: { providerId, path: '/in box' } }
  const createJob = 'mutation ($input: CreateJobInput!) { createJob(input: $input) { job { id } } }'
  const { job: first } = (await app.ask(createJob, { input: { ...job, conflict: 'RENAME' } }, token)).createJob
  t.same(await arrived(browser), [
    {
      title: 'Ihr Auftrag ist fertig',
      body: 'Disk: /plan.txt',
      path: '/jobs',
      tag: `JOB_ENDED ${first.id}`,
      language: 'de',
      direction: 'ltr',
    },
  ])
  await app.ask(
    createJob,
    { input: { ...job, sources: [{ providerId, path: '/missing' }], conflict: 'RENAME' } },
    token,
  )
  t.match((await arrived(browser, 2))[1], { title: 'Ihr Auftrag ist fehlgeschlagen', body: 'Disk: /missing' })

  const box = await makeShare(app, token, { providerId, path: '/in box', kind: 'DROP' })
  for (const name of ['a', 'b']) await drop(app, box.link, `/${name}.txt`, name)
  await app.app.services.audit.flush()
  t.match(await waiting(), [{ event: 'FILES_RECEIVED', count: 2 }], 'files are collected')
  await makeDue()
  t.match((await arrived(browser, 3))[2], {
    title: '2 Dateien sind in „in box“ angekommen',
    body: 'Disk: /in box',
    path: `/files/${providerId}/in%20box`,
    tag: `FILES_RECEIVED ${box.id}`,
  })

  const plan = await makeShare(app, token, { providerId, path: '/plan.txt' })
  const use = async () => {
    await read(app, plan.link, '/plan.txt')
    await app.app.services.audit.flush()
  }
  await use()
  t.match((await arrived(browser, 4))[3], { body: 'Disk: /plan.txt', path: '/shares', tag: `SHARE_USED ${plan.id}` })
  await until(async () => (await waiting()).filter(({ count }) => count === 0).length === 2)
  await use()
  await use()
  const [quiet] = (await waiting()).filter(({ event }) => event === 'SHARE_USED')
  t.equal(quiet?.count, 2)
  t.ok(Number(quiet?.next_attempt_at) > Date.now() + 50 * 60_000, 'others wait for an hour')
  await makeDue()
  t.match((await arrived(browser, 5))[4], { tag: `SHARE_USED ${plan.id}` })
  await until(async () => (await waiting()).every(({ count }) => count === 0))
  await makeDue()
  await isEmpty()
  t.equal(sentTo(browser).length, 5, 'nothing is sent twice')

  const chosen = await app.ask(
    'mutation ($input: UpdatePushSubscriptionInput!) { updatePushSubscription(input: $input) { events } }',
    { input: { id, events: ['MENTIONED', 'MENTIONED'] } },
    token,
  )
  t.same(chosen.updatePushSubscription.events, ['MENTIONED'])
  await use()
  t.same(await waiting(), [], 'an event that the person does not want')
  await app.ask('mutation ($id: ID!) { deletePushSubscription(id: $id) }', { id }, token)
  t.same(await list(token), [])
})

atNight(t, 'a person who has canceled a job knows it, and others hear of it', async t => {
  const { token } = await joined('jo@example.org')
  const { browser } = await subscribe(token)
  const queued = async () => {
    const { rows } = await sql<{ id: string }>`
      insert into jobs (id, workspace_id, user_id, credential_kind, credential_id, address, request_id, kind, state, sources, conflict)
      select gen_random_uuid(), workspace_id, user_id, 'SESSION', id, '', '', 'DELETE', 'PAUSED',
        ${JSON.stringify([{ providerId, path: '/plan.txt' }])}, 'FAIL'
      from sessions where user_id = (select id from users where email = 'jo@example.org')
      returning id`.execute(app.db)
    return rows[0]?.id
  }
  const cancel = 'mutation ($id: ID!) { cancelJob(id: $id) { state } }'
  await app.ask(cancel, { id: await queued() }, token)
  await app.ask(cancel, { id: await queued() }, owner.token)
  t.match(await arrived(browser), [{ title: 'Somebody has canceled your job', body: 'Disk: /plan.txt' }])
  await isEmpty()
  t.equal(sentTo(browser).length, 1)
})

t.test('a mention is shown to people who may read the entry when it is sent', async t => {
  const people = await Promise.all(['kim@example.org', 'leaves@example.org'].map(email => joined(email)))
  const [kim, leaves] = await Promise.all(people.map(({ token }) => subscribe(token)))
  await sql`alter table push_messages alter column next_attempt_at set default now() + interval '1 hour'`.execute(
    app.db,
  )
  const text = `${people.map(({ id }) => `@[${id}]`).join(' ')}: see`
  const say = 'mutation ($input: CreateCommentInput!) { createComment(input: $input) { id } }'
  const { createComment } = await app.ask(say, { input: { providerId, path: '/plan.txt', text } }, owner.token)
  t.equal((await waiting()).length, 2)
  const restrictions = [{ providerId, basePath: '/elsewhere' }]
  const access = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
  await app.ask(access, { input: { userId: people[1]?.id, providerAccess: { all: false, restrictions } } }, owner.token)
  await sql`alter table push_messages alter column next_attempt_at set default now()`.execute(app.db)
  await makeDue()
  t.match(kim && (await arrived(kim.browser)), [
    {
      title: 'owner@example.org mentions you in a comment on “plan.txt”',
      body: '@kim@example.org @leaves@example.org: see',
      path: `/files/${providerId}?file=plan.txt`,
      tag: `MENTIONED ${createComment.id}`,
    },
  ])
  await isEmpty()
  t.same(leaves && sentTo(leaves.browser), [])
})

atNight(t, 'a push service can refuse, slow down, and forget a browser', async t => {
  const { token } = await joined('refused@example.org')
  const { id, browser } = await subscribe(token)
  const [{ userAgent }] = await list(token)
  t.equal(userAgent, 'node')
  service.responds = { status: 429, headers: { 'retry-after': '600' } }
  await app.ask(testing, { id }, token)
  await until(async () => (await waiting())[0]?.attempts === 1)
  const [later] = await waiting()
  const seconds = (Number(later?.next_attempt_at) - Date.now()) / 1000
  t.ok(seconds > 500 && seconds < 700, String(seconds))
  t.match(app.logged(), /A push notification could not be sent/)
  t.notMatch(app.logged(), browser.endpoint.slice(-36), 'the log does not have the address')

  service.responds = { status: 503 }
  await makeDue()
  await until(async () => (await waiting())[0]?.attempts === 2)
  service.responds = { status: 413 }
  await makeDue()
  await isEmpty()
  t.equal((await list(token)).length, 1, 'the browser stays')

  service.responds = { status: 410 }
  await app.ask(testing, { id }, token)
  await until(async () => (await list(token)).length === 0)
  await isEmpty()
  service.responds = { status: 201 }
})

atNight(t, 'a push service that responds late delays only its own member', async t => {
  const [{ token: slow }, { token: other }] = await Promise.all([
    joined('slow@example.org'),
    joined('quick@example.org'),
  ])
  let respond = () => {}
  const late = new Promise<void>(resolve => {
    respond = resolve
  })
  t.teardown(respond)
  const signedIn = await Promise.all(Array.from({ length: 9 }, () => signIn('slow@example.org')))
  const browsers = await Promise.all([slow, ...signedIn].map(token => subscribe(token)))
  for (const { browser } of browsers) service.late.set(browser.endpoint, late)
  for (const { id, token } of browsers) await app.ask(testing, { id }, token)
  const ofSlow = () => browsers.flatMap(({ browser }) => sentTo(browser))
  await until(() => ofSlow().length > 0)
  const { id, browser } = await subscribe(other)
  await app.ask(testing, { id }, other)
  t.equal((await arrived(browser)).length, 1)
  t.equal(ofSlow().length, 1, 'a member gets one message at a time')
  service.late.clear()
  respond()
  await until(() => ofSlow().length === browsers.length || ofSlow().length)
  await isEmpty()
})

t.test('an address is https, and at a public network', async t => {
  t.equal(await refusal({ endpoint: 'http://push.example.org/1' }), 'INVALID_INPUT')
  t.equal(await refusal({ endpoint: 'https://me@push.example.org/1' }), 'INVALID_INPUT')
  t.equal(await refusal({ endpoint: `https://push.example.org/${'x'.repeat(1000)}` }), 'INVALID_INPUT')
  t.equal(await refusal({ publicKey: bytes(serverKey).fill(7, 1).toString('base64url') }), 'INVALID_INPUT', 'no point')
  t.equal(await refusal({ auth: 'AAAA' }), 'INVALID_INPUT')
  t.equal(await refusal({ endpoint: 'https://127.0.0.1:9/' }), 'UNAVAILABLE')
  t.equal(await refusal({ language: 'xx' }), 'INVALID_INPUT')
  const closed = await app.replica({ publicNetworks: undefined, settings: { ...app.settings, workers: 0 } })
  const { errors } = await closed.graphql(creation, { input: service.subscribe(serverKey) }, owner.token)
  t.match(errors, [{ message: /not at an address of a public network/, extensions: { reason: 'INVALID_INPUT' } }])
  t.equal((await closed.ask('{ pushPublicKey }', {}, owner.token)).pushPublicKey, serverKey, 'replicas share the key')
  const off = await app.replica({
    settings: { ...app.settings, workers: 0, push: { isEnabled: false, contact: null } },
  })
  t.equal((await off.ask('{ pushPublicKey }', {}, owner.token)).pushPublicKey, null)
  t.equal(await refusal({}, owner.token, off), 'PRECONDITION_FAILED')
  await Promise.all([closed.close(), off.close()])
})

t.test('a browser belongs to one session, and ends with it', async t => {
  const { token } = await joined('many@example.org')
  const first = await subscribe(token, { events: ['MENTIONED'] })
  const again = await subscribe(token, {}, first.browser)
  t.same(again.events, ['MENTIONED'], 'the same browser keeps its events')
  t.equal((await list(token)).length, 1)
  const moved = await subscribe(token)
  t.same(moved.events, ['MENTIONED'], 'the session has another address now')
  t.same(
    (await list(token)).map(({ id }: { id: string }) => id),
    [moved.id],
  )
  const other = await joined('other@example.org')
  const taken = await subscribe(other.token, {}, moved.browser)
  t.same(await list(token), [], 'another person uses the browser now')
  t.equal(taken.events.length, 4)
  const ofOther = await app.graphql(testing, { id: taken.id }, token)
  t.equal(ofOther.errors[0]?.extensions.reason, 'NOT_FOUND')

  await app.ask('mutation { logout }', {}, other.token)
  const count = async () => (await app.db.selectFrom('push_subscriptions').select('id').execute()).length
  t.same(await list(await signIn('other@example.org')), [], 'signing out ends it')

  const before = await count()
  await sql`
    with made as (
      insert into sessions (workspace_id, user_id, expires_at)
      select workspace_id, user_id, now() + interval '1 day' from generate_series(1, ${maxPushSubscriptions}) n, sessions
      where user_id = (select id from users where email = 'many@example.org')
      returning id, workspace_id, user_id)
    insert into push_subscriptions (id, workspace_id, user_id, session_id, endpoint, public_key, auth, events, created_at)
    select gen_random_uuid(), workspace_id, user_id, id, 'https://push.example.org/' || row_number() over (),
      decode(repeat('04', 65), 'hex'), decode(repeat('00', 16), 'hex'), '{}', now() - row_number() over () * interval '1 day'
    from made`.execute(app.db)
  t.equal((await list(token)).length, maxPushSubscriptions)
  const newest = await subscribe(token)
  const left = await app.db.selectFrom('push_subscriptions').select(['id', 'endpoint']).execute()
  t.equal(left.length, before + maxPushSubscriptions)
  t.ok(left.some(({ id }) => id === newest.id))
  t.notOk(
    left.some(({ endpoint }) => endpoint === `https://push.example.org/${maxPushSubscriptions}`),
    'the oldest has ended',
  )
  await sql`update rate_limits set hits = 60`.execute(app.db)
  t.equal(await refusal({}, token), 'RATE_LIMITED')
  await sql`delete from rate_limits`.execute(app.db)
  const people = 'query { users(first: 50) { nodes { id email } } }'
  const { users } = await app.ask(people, {}, owner.token)
  const { id: userId } = users.nodes.find(({ email }: { email: string }) => email === 'many@example.org')
  await app.ask('mutation ($id: ID!) { removeMember(userId: $id) }', { id: userId }, owner.token)
  t.equal(await count(), before, 'a removed member gets nothing')
})

t.test('a session that lacks its second factor or is over gets nothing, and an API key subscribes nothing', async t => {
  const { token } = await joined('late@example.org')
  const { id, browser } = await subscribe(token)
  const roles = (second: string) =>
    sql`update workspaces set second_factor_roles = array_remove(array[${second}], '')`.execute(app.db)
  await roles('EDITOR')
  await sql`insert into push_messages (subscription_id, event, subject_id) values (${id}, 'TEST', '')`.execute(app.db)
  await isEmpty()
  await roles('')
  await app.db.transaction().execute(async change => {
    await sql`update sessions set expires_at = now() - interval '1 second'
      where id = (select session_id from push_subscriptions where id = ${id})`.execute(change)
    await sql`insert into push_messages (subscription_id, event, subject_id) values (${id}, 'TEST', '')`.execute(change)
  })
  await isEmpty()
  t.same(sentTo(browser), [])
  const makeKey = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key } }'
  const { createApiKey } = await app.ask(makeKey, { input: { name: 'key', scopes: ['admin'] } }, owner.token)
  t.equal(await refusal({}, createApiKey.key), 'SESSION_REQUIRED')
})

atNight(t, 'several servers send each notification once, and none to a closed network', async t => {
  await sql`delete from rate_limits`.execute(app.db)
  const { token } = await joined('once@example.org')
  const { id, browser } = await subscribe(token)
  const other = await app.replica()
  const tags = Array.from({ length: 20 }, (_, n) => `${n}`)
  await sql`insert into push_messages (subscription_id, event, subject_id)
    select ${id}, 'TEST', n from unnest(${tags}::text[]) n`.execute(app.db)
  await isEmpty()
  t.equal(sentTo(browser).length, tags.length)
  t.equal(new Set(sentTo(browser).map(({ note }) => note.tag)).size, tags.length)

  await Promise.all([app.close(), other.close()])
  const closed = await app.replica({ publicNetworks: undefined })
  await closed.ask(testing, { id }, token)
  await until(async () => {
    const [message] = await closed.db.selectFrom('push_messages').select('attempts').execute()
    return message?.attempts === 1
  })
  t.equal(sentTo(browser).length, tags.length)
})
