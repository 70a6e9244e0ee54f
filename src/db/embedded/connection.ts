/** How clients reach the server of a cluster: through the unix socket that lies in the cluster's own folder. */
import { open } from 'node:fs/promises'
import pg from 'pg'
import { SUPERUSER } from './cluster.ts'
import { EmbeddedPostgresError } from './errors.ts'

/** For `pg`: `host` is a folder. */
export interface Connection {
  host: string
  port: number
  user: string
  database: string
}

export interface Address {
  connection: Connection
  close(): Promise<void>
}

/** Only names the socket: every cluster has a folder of its own. */
export const PORT = 5432
const NAME = 'stowage'
/** Bytes that fit a socket's address beside its final NUL: `sun_path` has 108 on Linux, 104 on macOS. */
const LONGEST_SOCKET_PATH = process.platform === 'linux' ? 107 : 103

/**
 * The server binds `./.s.PGSQL.5432`, which is always short. Where the whole path is too long for a client, Linux lets us
 * go through an open descriptor of the folder: nothing lies in a temporary folder, to be cleaned away under a running
 * server or left over after a kill. Such a connection is good until `close`.
 */
export async function addressOf(folder: string): Promise<Address> {
  const named = { port: PORT, user: NAME, database: NAME }
  const bytes = Buffer.byteLength(`${folder}/.s.PGSQL.${PORT}`)
  if (bytes <= LONGEST_SOCKET_PATH) return { connection: { host: folder, ...named }, close: async () => undefined }
  if (process.platform !== 'linux') {
    throw new EmbeddedPostgresError(
      `The path of the data folder is ${bytes - LONGEST_SOCKET_PATH} bytes too long for a unix socket in ${folder}: choose a shorter one.`,
    )
  }
  const handle = await open(folder)
  return { connection: { host: `/proc/${process.pid}/fd/${handle.fd}`, ...named }, close: () => handle.close() }
}

export function asSuperuser(connection: Connection, database = connection.database): Connection {
  return { ...connection, user: SUPERUSER, database }
}

export async function connectClient(connection: Connection): Promise<pg.Client> {
  const client = new pg.Client({
    ...connection,
    ssl: false,
    application_name: 'stowage-embedded',
    connectionTimeoutMillis: 10_000,
  })
  client.on('error', () => undefined) // the query or the `end` event that it breaks tells it
  await client.connect()
  return client
}

export async function withClient<T>(connection: Connection, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectClient(connection)
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** Makes the role and the database where they are missing: on the first start, and after one that was cut short there. */
export async function ensureDatabase(connection: Connection): Promise<void> {
  await withClient(asSuperuser(connection, 'postgres'), async client => {
    const { rows } = await client.query(
      `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS role,
              EXISTS (SELECT FROM pg_database WHERE datname = $1) AS database`,
      [NAME],
    )
    if (!rows[0].role) await client.query(`CREATE ROLE ${NAME} LOGIN`)
    if (!rows[0].database) await client.query(`CREATE DATABASE ${NAME} OWNER ${NAME}`)
  })
}
