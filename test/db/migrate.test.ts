import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { type CompiledQuery, sql } from 'kysely'
import t, { type Test } from 'tap'
import type { StoragePath } from '../../src/auth/path.ts'
import type { EntryFacts } from '../../src/db/catalogue/entries.ts'
import { connect, type Database } from '../../src/db/client.ts'
import { isMigrated, lastOfBaseline, MigrationError, migrate, migrationNames, runStep } from '../../src/db/migrate.ts'
import { toEntry } from '../../src/services/catalogue/entry.ts'
import { testDatabase } from '../servers/postgres.ts'
import { atNight } from '../support/extent.ts'
import { printSchema } from '../support/print-schema.ts'

const committed = new URL('../schema.sql', import.meta.url)
const sums = new URL('../migrations.sha256', import.meta.url)
const folder = new URL('../../migrations/', import.meta.url)
const baselineFile = new URL('../../src/db/baseline.ts', import.meta.url)

async function emptyDatabase(t: Test): Promise<{ connectionString: string }> {
  const connection = await testDatabase(t)
  const db = connect(connection, { max: 1 })
  await sql`drop schema public cascade`.execute(db)
  await sql`create schema public`.execute(db)
  await db.destroy()
  return connection
}

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

t.test('the baseline creates the same database as the steps', async t => {
  const statements: string[] = []
  const onQuery = (query: CompiledQuery) => {
    if (query.parameters.length > 0) throw new Error('A baseline cannot contain parameters')
    statements.push(query.sql.trim())
  }
  const steps = connect(await emptyDatabase(t), { max: 1, onQuery })
  t.teardown(() => steps.destroy())
  const names = await migrationNames()
  t.ok(names.includes(lastOfBaseline))
  for (const name of names.filter(each => each <= lastOfBaseline)) await runStep(name, steps)
  if (process.argv.includes('--update')) await writeFile(baselineFile, baselineOf(statements))
  for (const name of names.filter(each => each > lastOfBaseline)) await runStep(name, steps)

  const whole = connect(await emptyDatabase(t), { max: 1 })
  t.teardown(() => whole.destroy())
  await migrate(whole)
  const printed = await printSchema(whole)
  t.equal(printed, await printSchema(steps))
  if (process.argv.includes('--update')) await writeFile(committed, printed)
  t.equal(
    printed,
    await readFile(committed, 'utf8'),
    'run "node test/db/migrate.test.ts --update" after a new migration',
  )
  t.same(await otherObjects(whole), await otherObjects(steps))
  const { rows: tables } = await sql<{ name: string }>`
    select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and relname not like 'kysely_%'
    order by 1`.execute(steps)
  t.ok(tables.length > 30)
  for (const { name } of tables) {
    // The epoch names the database itself.
    const query = sql`select to_jsonb(t) - 'epoch' as row from ${sql.table(name)} t order by 1`
    t.same((await query.execute(whole)).rows, (await query.execute(steps)).rows, name)
  }
  const founded = await whole.insertInto('workspaces').values({ name: 'New' }).returning('registration').execute()
  t.same(founded, [{ registration: 'INVITE' }])
})

/** Prints what `printSchema` does not: functions, sequences, extensions, types, and settings of tables. */
async function otherObjects(db: Database): Promise<unknown[]> {
  const { rows } = await sql`
    select pg_get_functiondef(p.oid) as line from pg_proc p where p.pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    union all
    select format('%s %s %s %s', relkind, relname, reloptions, relpersistence) from pg_class
    where relnamespace = 'public'::regnamespace and relname not like 'kysely_%'
    union all
    select 'extension ' || extname from pg_extension
    union all
    select format('%s %s', typtype, typname) from pg_type where typnamespace = 'public'::regnamespace and typname !~ '^_?kysely_'
    union all
    select format('%s %s', attrelid::regclass, row(attname, attidentity, attgenerated, attstorage, attcompression, attoptions))
    from pg_attribute where attrelid in (select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
      and relname not like 'kysely_%') and attnum > 0 and not attisdropped
    union all
    select format('comment %s', description) from pg_description where objoid in
      (select oid from pg_class where relnamespace = 'public'::regnamespace)
    order by 1`.execute(db)
  return rows
}

function baselineOf(statements: readonly string[]): string {
  const text = statements
    .join(';\n')
    .replaceAll(/^ +$/gm, '')
    .replaceAll(/[\\`]|\$\{/g, found => `\\${found}`)
  return `/**
 * The statements of all steps up to \`lastOfBaseline\`, which create a new database in one round trip. Steps that come later run after it.
 * \`node test/db/migrate.test.ts --update\` writes this file, and the test compares its database with that of the steps.
 */
export const baseline = \`
${text}
\`
`
}

atNight(t, 'the catalogue finds its entries by smaller grams', async t => {
  const db = connect(await emptyDatabase(t), { max: 1 })
  t.teardown(() => db.destroy())
  const step = '2026-11-27T12-smaller-catalogue'
  for (const name of (await migrationNames()).filter(name => name < step)) await runStep(name, db)
  const grams = [
    -499978381, 1289762221, 214362520, -1325855158, -1530709914, 1448629001, 1900955318, -679032807, -548248652,
    71885812, 947522897, 965110247, -992161554, 1425065639, -659089612, -1814574700, -300312373, 1346392544,
    -1434102893, -1668578140, 771544463, -1288990890,
  ]
  const path = 'a/Été 東.md' as StoragePath
  await sql`
    insert into catalogue_entries (catalogue, is_folder, path, name, file_id, grams)
    values (1, false, ${path}, '', 'fedcba98-7654-3210-0123-456789abcdef', ${grams})`.execute(db)
  await sql`insert into catalogue_contents (catalogue, path, folders) values (1, ${path}, ${grams.slice(-3)})`.execute(
    db,
  )
  await runStep(step, db)
  const { rows } = await sql<{ grams: string; folders: number[]; fileId: string }>`
    select e.grams::text, c.folders, e.file_id as "fileId"
    from catalogue_entries e join catalogue_contents c using (catalogue, path)`.execute(db)
  const { grams: same, folders } = toEntry(1, path, { isFolder: false } as EntryFacts)
  const fileId = String(BigInt.asIntN(64, 0xfedcba9876543210n))
  // Files had a gram of their own path, too.
  t.same(rows, [{ grams: same.replace('}', `,${folders.at(-1)}}`), folders, fileId }])
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
