/**
 * Rights in memory, the part of the database: a counter of the changes of rights, and the registrations of the processes that
 * keep rights. `services/people/rights-memory.ts` is the other part.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { type RetrySchedule, retryDelay } from '../lib/retry.ts'
import { withTimeout } from '../lib/timeout.ts'
import { type Database, executePrepared } from './client.ts'

/** The state of rights that a statement has read. A counter compares only with others of its epoch. */
export interface RightsVersion {
  /** Names one run of the database server. A restore or a failover begins another one. */
  epoch: string
  /** Rises with each commit that changes rights. */
  counter: number
}

/** Milliseconds for which a process that registered may use what it keeps, on its own clock. */
export const leaseTime = 1000
/** Milliseconds until a registration counts as ended, on the clock of the database: clocks may differ by 5 percent. */
const registrationTime = leaseTime * 1.05
/** Milliseconds between two looks at the registrations. */
const lookSchedule: RetrySchedule = { delays: [2, 2, 4, 8, 16, 32, 50], isEndless: true }
/** The channel of notifications. Their payload is the counter. */
export const rightsChannel = 'rights'

/** The columns of a query that is joined with `rights_counter`, for `toVersion`. */
export const versionColumns = [
  sql<string>`rights_counter.counter`.as('rights_counter'),
  sql<string>`rights_epoch()`.as('rights_epoch'),
] as const

export function toVersion(row: { rights_counter: string; rights_epoch: string }): RightsVersion {
  return { counter: Number(row.rights_counter), epoch: row.rights_epoch }
}

/**
 * Registers a process, or renews its registration, and returns the version. Until the commit, no change of rights can commit:
 * the change then finds the registration.
 * @param seen the version that the process has seen, and to which it has dropped everything older
 */
export async function renewReader(db: Database, id: string, seen: RightsVersion | null): Promise<RightsVersion> {
  const [row] = await executePrepared(
    db,
    sql<{ rights_counter: string; rights_epoch: string }>`
      with current as (
        select counter, rights_epoch() as epoch from rights_counter for share
      ), stored as (
        insert into rights_readers as reader (id, seen, epoch, renewed_at)
        select ${id}::uuid, ${seen?.counter ?? -1}::bigint, ${seen?.epoch ?? ''}::text, clock_timestamp() from current
        on conflict (id) do update
          set seen = excluded.seen, epoch = excluded.epoch, renewed_at = clock_timestamp()
        returning id
      )
      select current.counter as rights_counter, current.epoch as rights_epoch from current, stored`,
  )
  if (!row) throw new Error('The table rights_counter is empty: restore its row from a backup.')
  return toVersion(row)
}

/** Removes the registration of a process that has stopped using what it keeps, and registrations that ended long ago. */
export async function removeReader(db: Database, id: string): Promise<void> {
  await sql`
    delete from rights_readers where id = ${id} or renewed_at < clock_timestamp() - interval '1 hour'`.execute(db)
}

/**
 * Runs work in one transaction. If it changes rights, resolves when no process decides by the earlier ones any more. All changes
 * of rights go through this function.
 */
export async function changeRights<T>(db: Database, work: (transaction: Database) => Promise<T>): Promise<T> {
  let isChange = false
  const result = await db.transaction().execute(async transaction => {
    const done = await work(transaction)
    isChange = await changesRights(transaction)
    return done
  })
  if (isChange) await untilSeen(db)
  return result
}

async function changesRights(transaction: Database): Promise<boolean> {
  const { rows } = await sql<{ changes: boolean }>`
    select current_setting('stowage.rights_changed_in', true) = pg_current_xact_id_if_assigned()::text as changes`.execute(
    transaction,
  )
  return rows[0]?.changes === true
}

/**
 * Resolves when no process decides by rights from before a commit: each registration shows the counter or has ended. Call it
 * when the commit has returned. Every lease that begins later shows the change, so a registration's time suffices in any case,
 * also without the database.
 */
async function untilSeen(db: Database): Promise<void> {
  const end = performance.now() + registrationTime
  let counter: number | null = null
  for (let looks = 1; performance.now() < end; looks++) {
    const state: { counter: number; isSeen: boolean } | null = await withTimeout(
      readersBehind(db, counter),
      end - performance.now(),
      tooLate,
    ).catch(() => null)
    if (state?.isSeen) return
    counter ??= state?.counter ?? null
    await sleep(Math.min(retryDelay(lookSchedule, looks) ?? 0, Math.max(end - performance.now(), 0)))
  }
}

function tooLate(): Error {
  return new Error('The database did not respond.')
}

/** @param counter that of the change, or of a later one; null for the latest */
async function readersBehind(db: Database, counter: number | null): Promise<{ counter: number; isSeen: boolean }> {
  const [row] = await executePrepared(
    db,
    sql<{ counter: string; is_seen: boolean }>`
      select current.counter,
        -- The registrations of an earlier epoch can be lost.
        current.began_at < clock_timestamp() - make_interval(secs => ${registrationTime / 1000}) and not exists (
          select from rights_readers
          where renewed_at > clock_timestamp() - make_interval(secs => ${registrationTime / 1000})
            and not (seen >= coalesce(${counter}::bigint, current.counter) and epoch = current.epoch)
        ) as is_seen
      from rights_counter current`,
  )
  return { counter: Number(row?.counter ?? 0), isSeen: row?.is_seen === true }
}
