import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { connect } from '../../src/db/client.ts'
import { createMeters } from '../../src/services/limits/meters.ts'
import { testDatabase } from '../servers/postgres.ts'
import { until } from '../support/until.ts'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

t.test('memory is bounded during a flood of addresses while the database is unavailable', async t => {
  const db = connect({ host: '/nonexistent', port: 1, user: 'nobody', database: 'none' })
  t.teardown(() => db.destroy())
  const errors: unknown[] = []
  const meters = createMeters(db, error => errors.push(error))
  t.teardown(() => meters.close())
  const meter = meters.meter({ name: 'flood', limit: 2, window: 3_600_000 })
  const flood = (count: number, offset: number) => {
    for (let n = 0; n < count; n++) meter.add(`2001:db8:${(offset + n).toString(16)}::/64`)
  }
  flood(20_000, 0)
  collect()
  const before = process.memoryUsage().heapUsed
  flood(100_000, 1_000_000)
  collect()
  const grown = process.memoryUsage().heapUsed - before
  t.ok(grown < 8 * 1024 ** 2, `${Math.round(grown / 1024)} KiB`)
  meter.add('somebody')
  t.equal(meter.wait('somebody'), null)
  meter.add('somebody')
  t.ok(Number(meter.wait('somebody')) > 0, 'the limit holds on this replica')
  await until(() => errors.length > 0)
  t.ok(Number(meter.wait('somebody')) > 0, 'the limit holds after a failed write')
})

t.test('clients with few requests cause no database query', async t => {
  const queries: string[] = []
  const db = connect(await testDatabase(t), { max: 1, onQuery: ({ sql }) => queries.push(sql) })
  t.teardown(() => db.destroy())
  const meters = createMeters(db, error => t.fail(String(error)))
  const meter = meters.meter({ name: 'quiet', limit: 10_000, window: 3_600_000 })
  for (let who = 0; who < 500; who++) for (let n = 0; n < 99; n++) meter.add(`quiet ${who}`)
  for (let who = 0; who < 500; who++) for (let n = 0; n < 200; n++) meter.add(`busy ${who}`)
  await until(() => queries.length > 0)
  await meters.close()
  t.equal(queries.length, 1, 'one query writes all busy clients')
  const rows = await db.selectFrom('rate_limits').select('hits').execute()
  t.same([rows.length, new Set(rows.map(({ hits }) => hits))], [500, new Set([200])])
})
