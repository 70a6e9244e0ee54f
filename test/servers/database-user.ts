/** Acts as a test file: requests a database, prints its server and name, and waits to be killed. */
import { once } from 'node:events'
import pg from 'pg'
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
process.stdout.write(JSON.stringify(rows[0]))
process.stdin.resume()
await once(process.stdin, 'end')
for (const end of ends) await end()
