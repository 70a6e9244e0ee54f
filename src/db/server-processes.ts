/** The processes of all servers, each of which renews its row while it runs. */
import { sql } from 'kysely'
import type { Database } from './client.ts'

/** Seconds without a renewal after which a process counts as stopped. */
const aliveSeconds = 90
/** Minutes for which a process that was killed is shown. */
const shownMinutes = 60
const maxShown = 200

export interface ServerProcess {
  id: string
  /** The name of its machine. */
  host: string
  /** The version of Stowage. */
  version: string
  nodeVersion: string
  startedAt: Date
  /** When it last renewed its row. */
  seenAt: Date
  /** It has renewed its row lately. */
  isAlive: boolean
}

type NewProcess = Pick<ServerProcess, 'id' | 'host' | 'version' | 'nodeVersion'>

/** Shows that a process runs. @param uptime seconds since its start */
export async function renewProcess(
  db: Database,
  { id, host, version, nodeVersion }: NewProcess,
  uptime: number,
): Promise<void> {
  await sql`
    insert into server_processes (id, host, version, node_version, started_at, renewed_at)
    values (${id}, ${host}, ${version}, ${nodeVersion}, now() - make_interval(secs => ${uptime}), now())
    on conflict (id) do update set renewed_at = excluded.renewed_at`.execute(db)
}

/** Removes a process that has ended. */
export async function removeProcess(db: Database, id: string): Promise<void> {
  await sql`
    delete from server_processes where id = ${id}`.execute(db)
}

/** Removes processes that were killed so long ago that they are not shown any more. */
export async function deleteOldProcesses(db: Database): Promise<void> {
  await sql`
    delete from server_processes where renewed_at < now() - make_interval(mins => ${shownMinutes})`.execute(db)
}

/** Returns the processes that run, and then those that were killed lately, by host and the oldest first. */
export async function listProcesses(db: Database): Promise<ServerProcess[]> {
  const { rows } = await sql<ServerProcess>`
    select id, host, version, node_version as "nodeVersion", started_at as "startedAt", renewed_at as "seenAt",
      renewed_at > now() - make_interval(secs => ${aliveSeconds}) as "isAlive"
    from server_processes where renewed_at > now() - make_interval(mins => ${shownMinutes})
    order by "isAlive" desc, host, started_at, id limit ${maxShown}`.execute(db)
  return rows
}
