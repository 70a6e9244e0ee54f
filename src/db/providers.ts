import { type Selectable, sql } from 'kysely'
import type { Change, Database } from './client.ts'
import type { ProviderStatus, Schema } from './schema.ts'

/** A connected storage provider as stored. */
export interface ProviderRecord {
  id: string
  workspaceId: string
  /** The type of the adapter. */
  type: string
  name: string
  /** Without secrets. */
  config: Record<string, unknown>
  sealedSecrets: Buffer | null
  status: ProviderStatus
  statusReason: string | null
  version: number
  jobLimits: JobLimits
  createdAt: Date
}

/** What all jobs together may do at a provider. */
export interface JobLimits {
  /** The number of files that they work on at once. */
  filesAtOnce: number
  /** Bytes per second that pass through the servers; null is no limit. */
  bytesPerSecond: number | null
}

type ProviderValues = Pick<
  ProviderRecord,
  'workspaceId' | 'id' | 'type' | 'name' | 'config' | 'sealedSecrets' | 'status' | 'statusReason'
>

export async function insertProvider(db: Change, values: ProviderValues): Promise<ProviderRecord> {
  const row = await db
    .insertInto('providers')
    .values({
      id: values.id,
      workspace_id: values.workspaceId,
      type: values.type,
      name: values.name,
      config: JSON.stringify(values.config),
      secrets: values.sealedSecrets,
      status: values.status,
      status_reason: values.statusReason,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toProvider(row)
}

/** Returns the oldest providers first. */
export async function listProviders(db: Database, workspaceId: string): Promise<ProviderRecord[]> {
  const rows = await db
    .selectFrom('providers')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(toProvider)
}

/** Returns the providers of all workspaces, the oldest first. */
export async function listAllProviders(db: Database): Promise<ProviderRecord[]> {
  const rows = await db.selectFrom('providers').selectAll().orderBy('created_at').orderBy('id').execute()
  return rows.map(toProvider)
}

/** Returns the providers with these ids that exist, in no particular order. */
export function findProviders(db: Database, ids: readonly string[]): Promise<ProviderRecord[]> {
  return prepareProviders(db)(ids)
}

/** Returns `findProviders` with a query that is compiled once. */
export function prepareProviders(db: Database): (ids: readonly string[]) => Promise<ProviderRecord[]> {
  const query = db.selectFrom('providers').selectAll().where(sql<boolean>`id = any(${[]})`).compile()
  return async ids => {
    const bound: typeof query = { ...query, parameters: [ids] }
    return (await db.executeQuery(bound)).rows.map(toProvider)
  }
}

/**
 * Updates a provider and increments its version, so that servers open it again. Returns null if the row no longer has `version`.
 */
export async function updateProvider(
  db: Change,
  { id, version }: Pick<ProviderRecord, 'id' | 'version'>,
  changes: Partial<Pick<ProviderRecord, 'name' | 'jobLimits' | 'config' | 'sealedSecrets' | 'status' | 'statusReason'>>,
): Promise<ProviderRecord | null> {
  const { config, sealedSecrets, status, statusReason } = changes
  const row = await db
    .updateTable('providers')
    .set({
      ...toColumns(changes),
      ...(config !== undefined && { config: JSON.stringify(config) }),
      ...(sealedSecrets !== undefined && { secrets: sealedSecrets }),
      ...(status !== undefined && { status }),
      ...(statusReason !== undefined && { status_reason: statusReason }),
      version: version + 1,
    })
    .where('id', '=', id)
    .where('version', '=', version)
    .returningAll()
    .executeTakeFirst()
  return row ? toProvider(row) : null
}

/** Changes what does not concern how the provider is opened, and at least one of them. */
export async function updateProviderDetails(
  db: Change,
  id: string,
  changes: Partial<Pick<ProviderRecord, 'name' | 'jobLimits'>>,
): Promise<ProviderRecord | null> {
  const row = await db
    .updateTable('providers')
    .set(toColumns(changes))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row ? toProvider(row) : null
}

/** Sets the status only if the row still has the version that was checked. */
export async function setProviderStatus(
  db: Database,
  of: Pick<ProviderRecord, 'id' | 'version'>,
  values: Pick<ProviderRecord, 'status' | 'statusReason'>,
): Promise<void> {
  await db
    .updateTable('providers')
    .set({ status: values.status, status_reason: values.statusReason })
    .where('id', '=', of.id)
    .where('version', '=', of.version)
    .where(({ eb, or }) =>
      or([eb('status', '!=', values.status), eb('status_reason', 'is distinct from', values.statusReason)]),
    )
    .execute()
}

export async function deleteProvider(db: Change, id: string): Promise<void> {
  await db.deleteFrom('providers').where('id', '=', id).execute()
}

function toProvider(row: Selectable<Schema['providers']>): ProviderRecord {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    type: row.type,
    name: row.name,
    config: row.config,
    sealedSecrets: row.secrets,
    status: row.status,
    statusReason: row.status_reason,
    version: row.version,
    jobLimits: {
      filesAtOnce: row.job_files_at_once,
      bytesPerSecond: row.job_bytes_per_second === null ? null : Number(row.job_bytes_per_second),
    },
    createdAt: row.created_at,
  }
}

function toColumns({ name, jobLimits }: Partial<Pick<ProviderRecord, 'name' | 'jobLimits'>>) {
  return {
    ...(name !== undefined && { name }),
    ...(jobLimits && {
      job_files_at_once: jobLimits.filesAtOnce,
      job_bytes_per_second: jobLimits.bytesPerSecond,
    }),
  }
}
