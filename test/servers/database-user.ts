/** Acts as a test file: requests a database, starts a program, prints the server and name of the database, and waits to be killed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import pg from 'pg'
import { untilParentEnds } from '../support/until-parent-ends.ts'
import { testDatabase } from './postgres.ts'

const ends: (() => Promise<void>)[] = []
const { connectionString } = await testDatabase({ teardown: end => ends.push(end) })
const client = new pg.Client({ connectionString })
client.on('error', () => undefined)
await client.connect()
const { rows } = await client.query(
  `SELECT pg_postmaster_start_time()::text AS server, current_database() AS name, to_regclass('kysely_migration') IS NOT NULL AS migrated`,
)
await client.end()
spawn(...untilParentEnds('sleep', ['600']), { stdio: ['ignore', 'inherit', 'inherit'] }).unref()
process.stdout.write(JSON.stringify(rows[0]))
process.stdin.resume()
await once(process.stdin, 'end')
for (const end of ends) await end()
