import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { connect } from '../../src/db/client.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createLocks } from '../../src/storage/locks.ts'
import { testDatabase } from '../servers/postgres.ts'
import { atNight } from '../support/extent.ts'
import { until } from '../support/until.ts'

async function replicas(t: Test) {
  const connection = await testDatabase(t)
  const dbs = [connect(connection, { max: 2 }), connect(connection, { max: 2 })] as const
  t.teardown(() => Promise.all(dbs.map(db => db.destroy())))
  await migrate(dbs[0])
  const count = async () => {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from locks`.execute(dbs[0])
    return rows[0]?.count
  }
  return { db: dbs[0], a: createLocks(dbs[0]), b: createLocks(dbs[1]), count }
}

t.test('a name is locked by one holder at a time on all replicas', async t => {
  const { a, b, count } = await replicas(t)
  const inside = new Map<string, number>()
  let most = 0
  const work = (name: string) => async () => {
    const now = (inside.get(name) ?? 0) + 1
    inside.set(name, now)
    most = Math.max(most, now)
    await sleep(5)
    inside.set(name, now - 1)
    return name
  }
  const names = Array.from({ length: 40 }, (_, i) => `name ${i % 3}`)
  const all = names.map((name, i) => (i % 2 ? a : b).exclusively(name, {}, work(name)))
  t.same(await Promise.all(all), names)
  t.equal(most, 1)
  await until(async () => (await count()) === 0)
})

t.test('a failure of the work releases the lock and is rethrown', async t => {
  const { a, b } = await replicas(t)
  const broken = new Error('broken')
  await t.rejects(
    a.exclusively('name', {}, () => Promise.reject(broken)),
    broken,
  )
  t.equal(await b.exclusively('name', {}, async () => 'free'), 'free')
})

t.test('an abort ends a wait for the lock on any replica but not the work', async t => {
  const { a, b } = await replicas(t)
  const reason = new Error('the client disconnected')
  const controller = new AbortController()
  const { promise: work, resolve: release } = Promise.withResolvers<string>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { signal } = controller
  const holding = a.exclusively('name', { signal }, () => {
    begin()
    return work
  })
  await begun
  const waiting = [a, b].map(locks => locks.exclusively('name', { signal }, async () => t.fail('the work has started')))
  setTimeout(() => controller.abort(reason), 200)
  for (const wait of waiting) await t.rejects(wait, reason)
  release('done')
  t.equal(await holding, 'done')
  t.equal(await a.exclusively('name', {}, async () => 'next'), 'next')
})

atNight(t, 'the lock of a killed holder expires, and a running holder renews its lock', async t => {
  const { db, a, b, count } = await replicas(t)
  await sql`insert into locks (key, holder, ends_at)
    values (sha256('killed'), gen_random_uuid(), now() + interval '1 second'),
      (sha256('long ago'), gen_random_uuid(), now() - interval '1 hour')`.execute(db)
  const start = performance.now()
  t.equal(await a.exclusively('killed', {}, async () => 'free'), 'free')
  t.ok(performance.now() - start > 800)
  await until(async () => (await count()) === 0)
  const { promise: work, resolve: release } = Promise.withResolvers<void>()
  const holding = a.exclusively('name', {}, () => work)
  await until(async () => (await count()) === 1)
  await sql`update locks set ends_at = now() + interval '8 seconds'`.execute(db)
  await sleep(9000)
  const other = b.exclusively('name', {}, async () => 'turn')
  t.equal(await Promise.race([other, sleep(300, 'none')]), 'none', 'the lock was renewed')
  release()
  await holding
  t.equal(await other, 'turn')
})

t.test('the work learns that another replica may have its lock', async t => {
  const { db, b } = await replicas(t)
  let paused = 0
  const locks = createLocks(db, () => performance.now() + paused)
  await locks.exclusively('name', {}, async lock => {
    lock.require()
    // As if this server had been paused until its lease ended.
    paused = 31_000
    await sql`update locks set ends_at = now()`.execute(db)
    t.equal(await b.exclusively('name', {}, async () => 'turn'), 'turn')
    t.throws(() => lock.require(), { message: /paused/ })
    t.ok(lock.lost.aborted)
  })
  await locks.exclusively('name', {}, async lock => lock.require())
})
