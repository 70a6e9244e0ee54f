import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { addressOf } from '../../src/db/embedded/connection.ts'
import { staged, type World } from './world.ts'

const day = 24 * 60 * 60

/** Makes all unfinished uploads look old while the server runs. */
export async function expireUploads(world: World): Promise<void> {
  const embedded = world.databaseUrl === null ? await addressOf(join(world.data, 'postgres', 'data')) : null
  const database = new pg.Client(embedded?.connection ?? { connectionString: world.databaseUrl ?? '' })
  await database.connect()
  await database.query('UPDATE uploads SET expires_at = now(), lease_until = now()')
  await database.end()
  await embedded?.close()
  const then = Date.now() / 1000 - 30 * day
  for (const name of await staged(world)) await utimes(join(world.files, '.stowage-staging', name), then, then)
}
