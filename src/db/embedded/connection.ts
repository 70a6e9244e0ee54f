/** Connects clients to the server of a cluster, through the Unix socket in the cluster's folder. */
import { open } from 'node:fs/promises'
import pg from 'pg'
import { EmbeddedPostgresError } from './layout.ts'

/** The options for `pg`, where `host` is a folder. */
export interface ClusterConnection {
  host: string
  port: number
  user: string
  database: string
}

export interface Address {
  connection: ClusterConnection
  close(): Promise<void>
}

/** PostgreSQL's superuser, for administration only. Stowage itself uses the role `stowage`, which is no superuser. */
export const SUPERUSER = 'postgres'
/** Part of the socket's name only. Clusters share it, because each has its own folder. */
export const PORT = 5432
const NAME = 'stowage'
/** Bytes of a socket's path without its final NUL: `sun_path` has 108 on Linux, 104 on macOS. */
const LONGEST_SOCKET_PATH = process.platform === 'linux' ? 107 : 103

/**
 * Returns the address of a cluster's server. The server binds `./.s.PGSQL.5432`, which is always short. If the whole path is
 * too long for a client, Linux can resolve it through an open descriptor of the folder. Unlike a socket in a temporary folder,
 * this leaves nothing behind after a kill. Such an address is valid until `close`.
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

export function asSuperuser(connection: ClusterConnection, database = connection.database): ClusterConnection {
  return { ...connection, user: SUPERUSER, database }
}

export async function connectClient(connection: ClusterConnection): Promise<pg.Client> {
  const client = new pg.Client({
    ...connection,
    ssl: false,
    application_name: 'stowage-embedded',
    connectionTimeoutMillis: 10_000,
  })
  client.on('error', () => undefined) // the failed query or the `end` event reports it
  await client.connect()
  return client
}

export async function withClient<T>(connection: ClusterConnection, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectClient(connection)
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** Creates the role and the database if they are missing: on the first start, or after an interrupted one. */
export async function ensureDatabase(connection: ClusterConnection): Promise<void> {
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
