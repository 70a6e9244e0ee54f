/**
 * The tables of the catalogues. The entries of back ends, their changes and the text of files enter, and the
 * results of searches and of pages leave.
 *
 * This file has the catalogues of providers and their state. One server at a time works on a catalogue, under a lease. Each of
 * its transactions begins with `keepLease`, so a server that has lost the lease changes nothing.
 */
import { type Selectable, sql } from 'kysely'
import type { Reason } from '../../errors.ts'
import type { Change, Database } from '../client.ts'
import type { CatalogueMode, Schema } from '../schema.ts'

export interface Catalogue {
  id: number
  /** Null if the entries are to be removed. */
  providerId: string | null
  mode: CatalogueMode
  entries: number
  /**
   * The present round, which lists every folder. `next` is the path before which all folders are listed, null at the beginning.
   * `isFirst`: the catalogue was empty before.
   */
  round: { startedAt: Date; next: string | null; hasGaps: boolean; isFirst: boolean } | null
  nextRoundAt: Date
  /** Every change before this time is in the catalogue; null before the end of the first round. */
  indexedAt: Date | null
  /** The last complete round has left something out. */
  hasGaps: boolean
  failures: number
  failure: Reason | null
  /** A server follows the changes. */
  isFollowed: boolean
  /** Files that were in the catalogue before it got the mode CONTENT are still to be added to those to read. */
  isFilling: boolean
}

/** Minutes without a server that follows the changes, after which the changes are no longer kept. As in the migration. */
const followedMinutes = 10
function toCatalogue(row: Selectable<Schema['catalogues']>): Catalogue {
  return {
    id: row.id,
    providerId: row.provider_id,
    mode: row.mode,
    entries: Number(row.entries),
    round: row.round_started_at && {
      startedAt: row.round_started_at,
      next: row.round_next,
      hasGaps: row.round_has_gaps,
      isFirst: row.round_is_first,
    },
    nextRoundAt: row.next_round_at,
    indexedAt: row.indexed_at,
    hasGaps: row.has_gaps,
    failures: row.failures,
    failure: row.failure,
    isFollowed: row.followed_at !== null && row.followed_at.getTime() > Date.now() - followedMinutes * 60_000,
    isFilling: row.content_next !== null,
  }
}

/** Returns the catalogues of these providers, in no particular order. */
export async function findCatalogues(db: Database, providerIds: readonly string[]): Promise<Catalogue[]> {
  const rows = await db
    .selectFrom('catalogues')
    .selectAll()
    .where(sql<boolean>`provider_id = any(${providerIds})`)
    .execute()
  return rows.map(toCatalogue)
}

/** Returns the catalogues of all providers of a workspace. */
export async function listCatalogues(db: Database, workspaceId: string): Promise<Catalogue[]> {
  const rows = await db
    .selectFrom('catalogues')
    .innerJoin('providers', 'providers.id', 'catalogues.provider_id')
    .selectAll('catalogues')
    .where('providers.workspace_id', '=', workspaceId)
    .execute()
  return rows.map(toCatalogue)
}

/** A change of the mode begins again: OFF removes the entries, and another mode lists everything. */
export async function setCatalogueMode(db: Change, providerId: string, mode: CatalogueMode): Promise<void> {
  await db
    .updateTable('catalogues')
    .set({
      mode,
      indexed_at: sql`case when mode = 'OFF' or ${mode} = 'OFF' then null else indexed_at end`,
      content_next: mode === 'CONTENT' ? '' : null,
      round_started_at: null,
      next_round_at: sql`now()`,
      retry_at: null,
      failures: 0,
      failure: null,
      followed_at: null,
      lease_id: null,
      lease_until: null,
    })
    .where('provider_id', '=', providerId)
    .where('mode', '!=', mode)
    .execute()
}

/** Lists all storages again soon. Call it when changes may have been lost. */
export async function compareAll(db: Database): Promise<void> {
  await db.updateTable('catalogues').set({ next_round_at: sql`now()` }).where('mode', '!=', 'OFF').execute()
}

/** Seconds between two confirmations. */
const confirmSeconds = 60

/**
 * Confirms that this server follows the changes of all catalogues. Those that nobody followed for a while are compared from the
 * beginning.
 */
export async function confirmFollowing(db: Database): Promise<void> {
  const isLost = sql`followed_at is null or followed_at < now() - make_interval(mins => ${followedMinutes})`
  await db
    .updateTable('catalogues')
    .set({
      followed_at: sql`now()`,
      next_round_at: sql`case when ${isLost} then now() else next_round_at end`,
      round_started_at: sql`case when ${isLost} then null else round_started_at end`,
      lease_id: sql`case when ${isLost} then null else lease_id end`,
    })
    .where('mode', '!=', 'OFF')
    .where('provider_id', 'is not', null)
    .where(sql<boolean>`(followed_at is null or followed_at < now() - make_interval(secs => ${confirmSeconds}))`)
    .execute()
}

/** Seconds. */
const leaseSeconds = 30

/** Claims a catalogue with something to do: the one that has waited longest. */
export async function claimCatalogue(db: Database, lease: string): Promise<Catalogue | null> {
  const row = await db
    .updateTable('catalogues')
    .set({
      lease_id: lease,
      lease_until: sql`now() + make_interval(secs => ${leaseSeconds})`,
      claimed_at: sql`now()`,
    })
    .where('id', '=', ({ selectFrom }) =>
      selectFrom('catalogues as c')
        .select('c.id')
        .where(
          sql<boolean>`(c.lease_until is null or c.lease_until < now()) and (c.retry_at is null or c.retry_at <= now())`,
        )
        .where(
          sql<boolean>`case when c.provider_id is null then true when c.mode = 'OFF' then c.entries > 0
            else c.next_round_at <= now() or c.round_started_at is not null
              or exists (select from catalogue_changes x where x.catalogue = c.id) end`,
        )
        .orderBy('c.claimed_at')
        .limit(1)
        .forUpdate()
        .skipLocked(),
    )
    .returningAll()
    .executeTakeFirst()
  return row ? toCatalogue(row) : null
}

/** The server that works on a catalogue. */
export interface CatalogueLease {
  catalogue: number
  lease: string
}

/** Another server works on the catalogue, or its provider is disconnected or has another mode. */
export class CatalogueLeaseLost extends Error {}

/** Columns of a catalogue to change. Absent properties stay as they are. */
export type CatalogueProgress = Partial<{
  /** The number of entries that were added, negative for removed ones. */
  added: number
  roundStartedAt: Date | null
  roundNext: string | null
  roundHasGaps: boolean
  roundIsFirst: boolean
  nextRoundAt: Date
  indexedAt: Date
  hasGaps: boolean
}>

/**
 * Runs work in a transaction that only the owner of the lease can commit. The commit does not wait for the disk: after a crash of the
 * database, the work is repeated.
 * @param work returns what to store of the catalogue. Any progress ends a series of failures
 * @throws CatalogueLeaseLost
 */
export async function changeCatalogue(
  db: Database,
  { catalogue, lease }: CatalogueLease,
  work: (trx: Database) => Promise<CatalogueProgress>,
): Promise<Catalogue> {
  return db.transaction().execute(async trx => {
    const owned = await trx
      .selectFrom('catalogues')
      .select(sql`set_config('synchronous_commit', 'off', true)`.as('commit'))
      .where('id', '=', catalogue)
      .where('lease_id', '=', lease)
      .forNoKeyUpdate()
      .executeTakeFirst()
    if (!owned) throw new CatalogueLeaseLost()
    const { added = 0, ...progress } = await work(trx)
    const row = await trx
      .updateTable('catalogues')
      .set({
        lease_until: sql`now() + make_interval(secs => ${leaseSeconds})`,
        failures: 0,
        failure: null,
        ...(added !== 0 && { entries: sql<string>`greatest(0, entries + ${added})` }),
        ...(progress.roundStartedAt !== undefined && { round_started_at: progress.roundStartedAt }),
        ...(progress.roundNext !== undefined && { round_next: progress.roundNext }),
        ...(progress.roundHasGaps !== undefined && { round_has_gaps: progress.roundHasGaps }),
        ...(progress.roundIsFirst !== undefined && { round_is_first: progress.roundIsFirst }),
        ...(progress.nextRoundAt !== undefined && { next_round_at: progress.nextRoundAt }),
        ...(progress.indexedAt !== undefined && { indexed_at: progress.indexedAt }),
        ...(progress.hasGaps !== undefined && { has_gaps: progress.hasGaps }),
      })
      .where('id', '=', catalogue)
      .returningAll()
      .executeTakeFirstOrThrow()
    return toCatalogue(row)
  })
}

/** Returns the catalogue as it is now; null if the lease is lost. */
export async function renewCatalogue(db: Database, { catalogue, lease }: CatalogueLease): Promise<Catalogue | null> {
  const row = await db
    .updateTable('catalogues')
    .set({ lease_until: sql`now() + make_interval(secs => ${leaseSeconds})` })
    .where('id', '=', catalogue)
    .where('lease_id', '=', lease)
    .returningAll()
    .executeTakeFirst()
  return row ? toCatalogue(row) : null
}

/** Ends a lease. @param failed why the back end failed, and in how many seconds another attempt is due */
export async function releaseCatalogue(
  db: Database,
  { catalogue, lease }: CatalogueLease,
  failed: { reason: Reason; seconds: number } | null,
): Promise<void> {
  await db
    .updateTable('catalogues')
    .set({
      lease_id: null,
      lease_until: null,
      retry_at: failed && sql<Date>`now() + make_interval(secs => ${failed.seconds})`,
      ...(failed && { failures: sql<number>`failures + 1`, failure: failed.reason }),
    })
    .where('id', '=', catalogue)
    .where('lease_id', '=', lease)
    .execute()
}

/** Deletes a catalogue without a provider and without entries. */
export async function deleteCatalogue(db: Database, catalogue: number): Promise<void> {
  await db.deleteFrom('catalogue_changes').where('catalogue', '=', catalogue).execute()
  await db.deleteFrom('catalogue_contents').where('catalogue', '=', catalogue).execute()
  await db.deleteFrom('catalogue_expected').where('catalogue', '=', catalogue).execute()
  await db.deleteFrom('catalogues').where('id', '=', catalogue).where('provider_id', 'is', null).execute()
}

/** Seconds after which a server without a renewal counts as killed. */
const serverSeconds = 45

/** A location at which a server changes an entry at present. */
export interface RunningChange {
  providerId: string
  /** Absolute within the provider. */
  path: string
}

/** @param running changes as JSON: see `RunningChange` */
export async function renewServer(db: Database, id: string, running: string): Promise<void> {
  const row = { renewed_at: sql<Date>`now()`, running }
  await db
    .insertInto('catalogue_servers')
    .values({ id, ...row })
    .onConflict(conflict => conflict.column('id').doUpdateSet(row))
    .execute()
}

export async function removeServer(db: Database, id: string): Promise<void> {
  await db.deleteFrom('catalogue_servers').where('id', '=', id).execute()
}

/** Returns whether a server was killed since the last call, and with it perhaps the record of its last changes. */
export async function takeKilledServers(db: Database): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('catalogue_servers')
    .where(sql<boolean>`renewed_at < now() - make_interval(secs => ${serverSeconds})`)
    .executeTakeFirst()
  return numDeletedRows > 0n
}
