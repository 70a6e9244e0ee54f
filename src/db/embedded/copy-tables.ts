/** Copies every row of one database into the same tables of another, on a server of another major version. */
import { chown, mkdir, rm } from 'node:fs/promises'
import type { Client } from 'pg'
import { asSuperuser, type ClusterConnection, withClient } from './connection.ts'
import { type Host, seenByServer } from './programs.ts'

interface Table {
  /** Both are quoted for SQL. */
  name: string
  columns: string
}

/**
 * Lists all tables. It omits generated columns, which the destination computes. Partitions count as tables; their
 * parents have no rows.
 */
const TABLES = `
  SELECT format('%I.%I', n.nspname, c.relname) AS name,
         string_agg(quote_ident(a.attname), ', ' ORDER BY a.attname) AS columns
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
  WHERE c.relkind = 'r' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
  GROUP BY 1 ORDER BY 1`

const SEQUENCES = `
  SELECT format('%I.%I', n.nspname, c.relname) AS name
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'S' AND n.nspname NOT LIKE 'pg\\_%' ORDER BY 1`

/** The settings of pg_dump, so that one version can read the output of another. */
const EXACT = `
  SET datestyle = 'ISO'; SET intervalstyle = 'postgres'; SET extra_float_digits = 3; SET client_encoding = 'UTF8';
  SET statement_timeout = 0`

export async function copyTables(host: Host, from: ClusterConnection, to: ClusterConnection): Promise<void> {
  const { layout, user } = host
  await rm(layout.exchange, { recursive: true, force: true })
  await mkdir(layout.exchange, { mode: 0o700 })
  if (user !== undefined) await chown(layout.exchange, user.uid, user.gid)
  // This path is valid for both servers. `join` would resolve the `..` without following the link.
  const path = `${seenByServer(host, layout.data)}/../exchange/rows`
  try {
    await withClient(asSuperuser(from), source =>
      withClient(asSuperuser(to), destination => copyAll(source, destination, path, host.signal)),
    )
  } finally {
    await rm(layout.exchange, { recursive: true, force: true })
  }
}

async function copyAll(source: Client, destination: Client, path: string, signal: AbortSignal): Promise<void> {
  const tables = await tablesOf(source)
  if (JSON.stringify(tables) !== JSON.stringify(await tablesOf(destination))) {
    throw new Error('the migrations made other tables than those in the old database')
  }
  await source.query(EXACT)
  await destination.query(EXACT)
  await destination.query(`BEGIN; SET LOCAL session_replication_role = replica`)
  if (tables.length > 0) await destination.query(`TRUNCATE ${tables.map(table => table.name).join(', ')}`)
  for (const { name, columns } of tables) {
    signal.throwIfAborted()
    const { rowCount: read } = await source.query(`COPY ${name} (${columns}) TO '${quoted(path)}'`)
    const { rowCount: written } = await destination.query(`COPY ${name} (${columns}) FROM '${quoted(path)}'`)
    if (read === null || read !== written) throw new Error(`only ${written} of ${read} rows of ${name} were copied`)
  }
  for (const name of await sequencesOf(source)) {
    const { rows } = await source.query(`SELECT last_value, is_called FROM ${name}`)
    await destination.query('SELECT setval($1::regclass, $2, $3)', [name, rows[0].last_value, rows[0].is_called])
  }
  await destination.query('COMMIT')
  await destination.query('ANALYZE')
}

async function tablesOf(client: Client): Promise<Table[]> {
  return (await client.query<Table>(TABLES)).rows
}

async function sequencesOf(client: Client): Promise<string[]> {
  return (await client.query<{ name: string }>(SEQUENCES)).rows.map(row => row.name)
}

function quoted(path: string): string {
  return path.replaceAll("'", "''")
}
