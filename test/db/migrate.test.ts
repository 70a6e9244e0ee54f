import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { connect } from '../../src/db/client.ts'
import { isMigrated, MigrationError, migrate } from '../../src/db/migrate.ts'
import { testDatabase } from '../servers/postgres.ts'
import { printSchema } from '../support/print-schema.ts'

const committed = new URL('../schema.sql', import.meta.url)
const sums = new URL('../migrations.sha256', import.meta.url)
const folder = new URL('../../migrations/', import.meta.url)

async function emptyDatabase(t: Test): Promise<{ connectionString: string }> {
  const connection = await testDatabase(t)
  const db = connect(connection, { max: 1 })
  await sql`drop schema public cascade`.execute(db)
  await sql`create schema public`.execute(db)
  await db.destroy()
  return connection
}

t.test('the committed print of the tables matches the database', async t => {
  const db = connect(await testDatabase(t), { max: 1 })
  t.teardown(() => db.destroy())
  const printed = await printSchema(db)
  if (process.argv.includes('--update')) await writeFile(committed, printed)
  t.equal(
    printed,
    await readFile(committed, 'utf8'),
    'run "node test/db/migrate.test.ts --update" after a new migration',
  )
})

t.test('a released migration never changes', async t => {
  const files = (await readdir(folder)).toSorted()
  const lines = await Promise.all(
    files.map(
      async file =>
        `${createHash('sha256')
          .update(await readFile(new URL(file, folder)))
          .digest('hex')}  ${file}`,
    ),
  )
  if (process.argv.includes('--update')) await writeFile(sums, `${lines.join('\n')}\n`)
  t.equal(await readFile(sums, 'utf8'), `${lines.join('\n')}\n`, 'create a new migration instead')
})

t.test('replicas that start at the same time migrate once', async t => {
  const connection = await emptyDatabase(t)
  const replicas = Array.from({ length: 5 }, () => connect(connection, { max: 2 }))
  t.teardown(() => Promise.all(replicas.map(db => db.destroy())))
  await Promise.all(replicas.map(migrate))
  const [db] = replicas
  if (!db) throw new Error('unreachable')
  t.ok(await isMigrated(db))
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db)
  t.equal(rows.length, (await readdir(folder)).length)
  await migrate(db)
  t.pass('migrating again changes nothing')
})

t.test('a database of a newer version is refused in one sentence and not changed', async t => {
  const db = connect(await emptyDatabase(t), { max: 2 })
  t.teardown(() => db.destroy())
  t.notOk(await isMigrated(db))
  await migrate(db)
  await sql`insert into kysely_migration (name, timestamp) values ('2999-01-01T00-later', '2999-01-01')`.execute(db)
  await t.rejects(migrate(db), MigrationError)
  await t.rejects(migrate(db), /newer Stowage .*"2999-01-01T00-later".*: run that version/)
})
