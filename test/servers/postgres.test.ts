import { sql } from 'kysely'
import t from 'tap'
import { connect } from '../../src/db/client.ts'
import { isMigrated } from '../../src/db/migrate.ts'
import { testDatabase } from './postgres.ts'

t.test('each database is migrated, empty, writable and apart', async t => {
  const begin = performance.now()
  const one = connect(await testDatabase(t))
  t.comment(`first ${Math.round(performance.now() - begin)} ms`)
  t.teardown(() => one.destroy())
  const again = performance.now()
  const two = connect(await testDatabase(t))
  t.comment(`second ${Math.round(performance.now() - again)} ms`)
  t.teardown(() => two.destroy())
  t.equal(await isMigrated(one), true)
  await sql`insert into workspaces (name) values ('one')`.execute(one)
  t.equal((await sql`select 1 from workspaces`.execute(one)).rows.length, 1)
  t.equal((await sql`select 1 from workspaces`.execute(two)).rows.length, 0)
})
