/** The requests of webhooks at once: receivers that fail or do not respond do not delay the messages to others. */
import { createServer, type ServerResponse } from 'node:http'
import { type RawBuilder, sql } from 'kysely'
import t, { type Test } from 'tap'
import type { Database } from '../../src/db/client.ts'
import { maxAtOnce, maxOfFailing, maxOfWebhook, pause, WebhookSlots } from '../../src/services/webhooks/sender.ts'
import { listen, startReceiver } from '../servers/receiver.ts'
import { startApp, type TestAppOptions } from '../support/app.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'

const create = 'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { webhook { id } } }'

async function setUp(t: Test, options: TestAppOptions = {}) {
  const app = await startApp(t, options)
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'memory', {})
  return {
    app,
    webhook: async (url: string): Promise<string> =>
      (await app.ask(create, { input: { name: 'hook', url, events: ['FILE_UPLOADED'] } }, token)).createWebhook.webhook
        .id,
    upload: (path: string) => app.upload(token, providerId, path, 'content'),
    waiting: () => count(app.db, sql`ended_at is null`),
    delivered: () => count(app.db, sql`state = 'DELIVERED'`),
    failed: () => count(app.db, sql`state = 'PENDING' and attempts > 0`),
  }
}

/** Returns the number of deliveries with a condition. */
async function count(db: Database, condition: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from webhook_deliveries where ${condition}`.execute(db)
  return rows[0]?.count ?? 0
}

/** Starts a receiver that does not respond by itself while `hangs` is true, and otherwise responds with 503. */
async function startSlowReceiver(t: Test) {
  const slow = { url: '', hangs: true, waiting: [] as { path: string; response: ServerResponse }[], most: 0 }
  const server = createServer((request, response) => {
    request.resume()
    if (!slow.hangs) {
      response.writeHead(503).end()
      return
    }
    slow.waiting.push({ path: request.url ?? '', response })
    slow.most = Math.max(slow.most, slow.waiting.length)
    response.on('close', () => {
      slow.waiting = slow.waiting.filter(each => each.response !== response)
    })
  })
  slow.url = await listen(t, server)
  return slow
}

t.test('a webhook never has more than four requests at once', async t => {
  const { app, webhook, upload, waiting, delivered } = await setUp(t, { settings: { workers: 0 } })
  const receiver = await startSlowReceiver(t)
  await webhook(receiver.url)
  const paths = Array.from({ length: 30 }, (_, n) => `/file-${n}`)
  await Promise.all(paths.map(upload))
  await until(async () => (await waiting()) === paths.length)
  await app.replica({ settings: { workers: 1 } })
  for (let answered = 0; answered < paths.length; answered++) {
    const expected = answered === 0 ? 1 : Math.min(maxOfWebhook, paths.length - answered)
    await until(() => receiver.waiting.length >= expected || receiver.waiting.length)
    receiver.waiting.shift()?.response.writeHead(204).end()
    await until(async () => (await delivered()) > answered)
  }
  t.equal(receiver.most, maxOfWebhook)
})

atNight(t, 'receivers that do not respond do not delay the messages to others', async t => {
  const { webhook, upload, failed } = await setUp(t)
  const [dead, receiver] = [await startSlowReceiver(t), await startReceiver(t)]
  const webhooks = Array.from({ length: 20 }, (_, n) => `/${n}`)
  for (const path of webhooks) await webhook(dead.url + path)
  await webhook(receiver.url)
  dead.hangs = false
  await upload('/first')
  await until(async () => (await failed()) === webhooks.length || failed())
  await until(() => receiver.messages.length === 1)
  dead.hangs = true
  for (let n = 0; n < 5; n++) await upload(`/backlog-${n}`)
  await until(() => dead.waiting.length === maxOfFailing || dead.waiting.length)
  await until(() => receiver.messages.length === 6)
  await upload('/last')
  await until(() => receiver.messages.length === 7)
  t.equal(dead.most, maxOfFailing, 'receivers that fail leave requests to others')
  const paths = dead.waiting.map(({ path }) => path)
  t.equal(new Set(paths).size, paths.length, 'each of them has one request')
})

atNight(t, 'webhooks that fail take turns, and one that works again has four requests', async t => {
  const slots = new WebhookSlots()
  const fail = (id: string, now: number) => {
    slots.begin(id)
    slots.end(id, false, now)
  }
  const failing = (now: number) => slots.failing(now).allowances.map(({ webhookId }) => webhookId)
  for (const [now, id] of ['a', 'b', 'c'].entries()) fail(id, now)
  t.same(failing(pause + 1), ['a', 'b'], 'a webhook pauses after a failure')
  fail('a', pause)
  t.same(failing(2 * pause), ['b', 'c', 'a'], 'the one that waits for the longest time is first')
  slots.begin('b')
  t.same(failing(2 * pause), ['c', 'a'])
  slots.end('b', true)
  t.same(failing(2 * pause), ['c', 'a'])
  t.same(
    slots.healthy().allowances.filter(({ limit }) => limit > 0),
    [{ webhookId: 'b', limit: maxOfWebhook }],
  )
  slots.begin('new')
  t.match(slots.healthy(), { limit: maxAtOnce - 1, others: 1 })
  t.same(
    slots.healthy().allowances.find(({ webhookId }) => webhookId === 'new'),
    { webhookId: 'new', limit: 0 },
    'a new webhook has one request',
  )
  slots.end('new', null)
  t.notOk(slots.healthy().allowances.some(({ webhookId }) => webhookId === 'new'))
})

t.test('the number of webhooks that a server remembers is bounded', async t => {
  const slots = new WebhookSlots()
  for (let n = 0; n < 1500; n++) {
    slots.begin(`${n}`)
    slots.end(`${n}`, n % 2 === 0, 0)
  }
  t.equal(slots.healthy().allowances.length, 1000)
  t.equal(slots.failing(pause).allowances.length, 500)
})
