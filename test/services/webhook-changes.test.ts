/** Webhooks that several people and servers change: whose rights they need, and what a change leaves behind. */
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { isSigned, startReceiver } from '../servers/receiver.ts'
import { startApp, type TestAppOptions } from '../support/app.ts'
import type { Data } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { holdLocks } from '../support/held-locks.ts'
import { until } from '../support/until.ts'

const create = 'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { webhook { id } secret } }'
const update = 'mutation ($input: UpdateWebhookInput!) { updateWebhook(input: $input) { createdBy { email } } }'
const rotate = 'mutation ($id: ID!) { rotateWebhookSecret(id: $id) { secret webhook { createdBy { email } } } }'
const show = 'query ($id: ID!) { webhook(id: $id) { enabled error createdBy { email } } }'

async function setUp(t: Test, options: TestAppOptions = {}) {
  const app = await startApp(t, options)
  const owner = await app.register('owner@example.org')
  const admin = await app.register('admin@example.org')
  const providerId = await app.connectProvider(owner.token, 'memory', {})
  const receiver = await startReceiver(t)
  const role = (role: string) =>
    app.ask(
      'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }',
      { input: { userId: admin.id, role, providerAccess: { all: true } } },
      owner.token,
    )
  await role('ADMIN')
  async function webhook(path: string, token = owner.token): Promise<{ id: string; secret: string }> {
    const input = { name: 'hook', url: receiver.url + path, events: ['FILE_UPLOADED'] }
    const { createWebhook } = await app.ask(create, { input }, token)
    return { id: createWebhook.webhook.id, secret: createWebhook.secret }
  }
  return {
    app,
    owner,
    admin,
    receiver,
    role,
    webhook,
    upload: (path: string) => app.upload(owner.token, providerId, path, 'content'),
    show: async (id: string): Promise<Data> => (await app.ask(show, { id }, owner.token)).webhook,
    deliveries: async (id: string) =>
      (await sql<Data>`select * from webhook_deliveries where webhook_id = ${id}`.execute(app.db)).rows,
  }
}

t.test('a webhook needs the rights of the person who last changed its address or its secret', async t => {
  const { app, admin, receiver, role, webhook, upload, show } = await setUp(t)
  const [moved, rotated, kept] = [await webhook('?moved'), await webhook('?rotated'), await webhook('?kept')]
  const by = admin.token
  const change = async (input: object) => (await app.ask(update, { input }, by)).updateWebhook.createdBy.email
  t.equal(await change({ id: moved.id, url: `${receiver.url}?theirs` }), 'admin@example.org')
  t.equal(
    (await app.ask(rotate, { id: rotated.id }, by)).rotateWebhookSecret.webhook.createdBy.email,
    'admin@example.org',
  )
  t.equal(await change({ id: kept.id, name: 'other', url: `${receiver.url}?kept` }), 'owner@example.org')
  await role('EDITOR')
  await upload('/a')
  for (const { id } of [moved, rotated]) await until(async () => (await show(id)).enabled === false)
  t.match((await show(moved.id)).error, /scope "admin"/)
  await receiver.first('file.uploaded')
  t.equal(receiver.messages.length, 1, 'only the webhook that still has its creator sent a message')
  t.equal((await show(kept.id)).enabled, true)
})

atNight(t, 'a webhook that a key moves ends with the key', async t => {
  const { app, owner, receiver, webhook, upload, show } = await setUp(t)
  const { id } = await webhook('?session')
  const { key, id: keyId } = await app.createKey(owner.token, { name: 'k', scopes: ['admin'] })
  await app.ask(update, { input: { id, url: `${receiver.url}?key` } }, key)
  await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id: keyId }, owner.token)
  await upload('/a')
  await until(async () => (await show(id)).enabled === false)
  t.match((await show(id)).error, /revoked/)
})

atNight(t, 'of two rotations at once, the second one keeps the secret of the first', async t => {
  const { app, owner, receiver, webhook, upload } = await setUp(t)
  const { id } = await webhook('')
  const held = await holdLocks(app.db, sql`select id from webhooks where id = ${id} for update`)
  const rotating = [1, 2].map(() => app.ask(rotate, { id }, owner.token))
  await held.blocks(2)
  await held.commit()
  const secrets = (await Promise.all(rotating)).map(({ rotateWebhookSecret }) => rotateWebhookSecret.secret)
  await upload('/a')
  const message = await receiver.first('file.uploaded')
  t.same(
    secrets.map(secret => isSigned(message, secret)),
    [true, true],
  )
})

atNight(t, 'a webhook that was changed while its rights were checked is not disabled', async t => {
  const { app, owner, admin, receiver, role, webhook, upload, show } = await setUp(t)
  const { id } = await webhook('', admin.token)
  await role('EDITOR')
  const held = await holdLocks(app.db, sql`update webhooks set user_id = ${owner.id} where id = ${id}`)
  await upload('/a')
  await held.blocks(1)
  await held.commit()
  await receiver.first('file.uploaded')
  t.match(await show(id), { enabled: true, error: null, createdBy: { email: 'owner@example.org' } })
})

atNight(t, 'a webhook and its deliveries are disabled at once', async t => {
  const { app, receiver, webhook, upload, show, deliveries } = await setUp(t)
  const { id } = await webhook('')
  receiver.responds = { status: 503, headers: { 'retry-after': '3600' } }
  await upload('/a')
  await until(async () => (await deliveries(id))[0]?.attempts === 1)
  receiver.responds = { status: 410 }
  const held = await holdLocks(app.db, sql`select id from webhook_deliveries where webhook_id = ${id} for update`)
  await upload('/b')
  await held.blocks(1)
  t.equal((await show(id)).enabled, true)
  await held.commit()
  await until(async () => (await show(id)).enabled === false)
  t.same(
    (await deliveries(id)).map(({ next_attempt_at: next, claim_id: claim }) => [next, claim]),
    Array(2).fill([Number.POSITIVE_INFINITY, null]),
  )
})

atNight(t, 'deliveries that are due are not sent for a webhook that is disabled', async t => {
  const { app, receiver, webhook, upload, deliveries } = await setUp(t, { settings: { workers: 0 } })
  const [disabled, other] = [await webhook('?disabled'), await webhook('?other')]
  await upload('/a')
  await until(async () => (await deliveries(other.id)).length === 1)
  await sql`update webhooks set is_enabled = false where id = ${disabled.id}`.execute(app.db)
  await sql`update webhook_deliveries set next_attempt_at = now() - interval '1 minute' where webhook_id = ${disabled.id}`.execute(
    app.db,
  )
  await app.replica({ settings: { workers: 1 } })
  await until(async () => (await deliveries(other.id))[0]?.state === 'DELIVERED')
  t.match(await deliveries(disabled.id), [{ state: 'PENDING', attempts: 0, claim_id: null }])
  t.equal(receiver.messages.length, 1)
})
