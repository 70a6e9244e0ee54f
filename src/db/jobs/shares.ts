import { sql } from 'kysely'
import type { Database } from '../client.ts'

/** The limits of a provider, and the number of jobs that share them now. */
export interface SharedLimits {
  filesAtOnce: number
  /** Null is no limit. */
  bytesPerSecond: number | null
  /** The running jobs of all servers that have the provider as a source or as the target. */
  jobs: number
}

/** Finds the limits of providers that exist. Reads only, because every running job asks each second. */
export async function findSharedLimits(
  db: Database,
  providerIds: readonly string[],
): Promise<ReadonlyMap<string, SharedLimits>> {
  const { rows } = await sql<{ id: string; files: number; bytes: string | null; jobs: number }>`
    select id, job_files_at_once as files, job_bytes_per_second as bytes,
      (select count(*)::int from jobs
        where jobs.workspace_id = providers.workspace_id and state = 'RUNNING' and lease_until > now()
          and (sources @> jsonb_build_array(jsonb_build_object('providerId', providers.id))
            or target ->> 'providerId' = providers.id::text)) as jobs
    from providers where id = any(${providerIds}::uuid[])`.execute(db)
  return new Map(
    rows.map(({ id, files, bytes, jobs }) => [
      id,
      { filesAtOnce: files, bytesPerSecond: bytes === null ? null : Number(bytes), jobs },
    ]),
  )
}
