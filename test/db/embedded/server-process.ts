/**
 * A server process that tests kill: `node server-process.ts <options as JSON>`. It prints events as lines of JSON and stops
 * normally when standard input closes.
 */
import pg from 'pg'
import { startEmbeddedPostgres } from '../../../src/db/embedded/index.ts'

export interface ServerProcessOptions {
  dataFolder: string
  useWatchdog?: boolean
  binaries?: string
  settings?: Record<string, string>
  /** Switch to this user first. */
  uid?: number
  gid?: number
  /** Insert rows, one per transaction, until killed. */
  write?: boolean
}

export type ServerMessage =
  | { log: string; line?: string }
  | { ready: { host: string; owner: boolean; milliseconds: number } }
  | { committed: number }
  | { ended: string }
  | { error: string; name: string }

function tell(message: ServerMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}

async function serve(options: ServerProcessOptions): Promise<void> {
  const { uid, gid, write, ...start } = options
  if (uid !== undefined && gid !== undefined) {
    process.setgroups?.([])
    process.setgid?.(gid)
    process.setuid?.(uid)
  }
  const begin = performance.now()
  const server = await startEmbeddedPostgres({ ...start, log: (log, details) => tell({ log, ...details }) })
  tell({ ready: { host: server.connection.host, owner: server.owner, milliseconds: performance.now() - begin } })
  server.onExit(ended => tell({ ended }))
  process.stdin.once('end', () => void server.stop()).resume()
  if (write) await insertForEver(server.connection)
}

async function insertForEver(connection: pg.ClientConfig): Promise<never> {
  const client = new pg.Client(connection)
  client.on('error', () => undefined) // The failed insert reports it.
  await client.connect()
  await client.query('CREATE TABLE IF NOT EXISTS written (id bigserial PRIMARY KEY, filler text)')
  for (;;) {
    const { rows } = await client.query("INSERT INTO written (filler) VALUES (repeat('x', 300)) RETURNING id")
    tell({ committed: Number(rows[0].id) })
  }
}

if (import.meta.main) {
  const [, , options = '{}'] = process.argv
  await serve(JSON.parse(options)).catch(error => tell({ error: error.message, name: error.name }))
}
