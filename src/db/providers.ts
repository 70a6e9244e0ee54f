import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Change, Database } from './client.ts'
import { batched, prepareLookups } from './lookups.ts'
import type { EncryptionSettings, ProviderStatus, Schema } from './schema.ts'

/** A connected storage provider as stored. */
export interface ProviderRecord {
  id: string
  workspaceId: string
  /** The type of the adapter. */
  type: string
  name: string
  /** Names the provider in the addresses of WebDAV and S3, unique in the workspace. */
  slug: string
  /** Without secrets. */
  config: Record<string, unknown>
  sealedSecrets: Buffer | null
  status: ProviderStatus
  statusReason: string | null
  version: number
  jobLimits: JobLimits
  /** Days that deleted entries stay in the trash; 0 deletes them at once, null leaves it to the server's setting. */
  trashDays: number | null
  /** The maximum number of earlier versions of a file; 0 keeps none, null leaves it to the kind of storage. */
  versionCount: number | null
  /** Days that earlier versions are kept; null leaves it to the server. */
  versionDays: number | null
  /** How names and contents are encrypted; null if they are not. */
  encryption: EncryptionSettings | null
  sealedEncryption: Buffer | null
  /** Where its root is at the back end; null if that is not known. */
  rootId: string | null
  createdAt: Date
}

/** The limits of all jobs together at a provider. */
export interface JobLimits {
  /** The number of files that they work on at once. */
  filesAtOnce: number
  /** Bytes per second that pass through the servers; null is no limit. */
  bytesPerSecond: number | null
}

export type NewProvider = Pick<
  ProviderRecord,
  'workspaceId' | 'id' | 'type' | 'name' | 'slug' | 'config' | 'sealedSecrets' | 'status' | 'statusReason'
> &
  Partial<Pick<ProviderRecord, 'versionCount' | 'versionDays' | 'encryption' | 'sealedEncryption' | 'rootId'>>

/** Returns null if the slug is taken. */
export async function insertProvider(db: Change, values: NewProvider): Promise<ProviderRecord | null> {
  const row = await db
    .insertInto('providers')
    .values({
      id: values.id,
      workspace_id: values.workspaceId,
      type: values.type,
      name: values.name,
      slug: values.slug,
      config: JSON.stringify(values.config),
      secrets: values.sealedSecrets,
      status: values.status,
      status_reason: values.statusReason,
      version_count: values.versionCount ?? null,
      version_days: values.versionDays ?? null,
      encryption: values.encryption ? JSON.stringify(values.encryption) : null,
      encryption_secrets: values.sealedEncryption ?? null,
      root_id: values.rootId ?? null,
    })
    .onConflict(conflict => conflict.columns(['workspace_id', 'slug']).doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ? toProvider(row) : null
}

/** Returns the slugs in a workspace that begin with a text. */
export async function listSlugs(db: Database, workspaceId: string, start: string): Promise<string[]> {
  const rows = await db
    .selectFrom('providers')
    .select('slug')
    .where('workspace_id', '=', workspaceId)
    .where(sql<boolean>`starts_with(slug, ${start})`)
    .execute()
  return rows.map(({ slug }) => slug)
}

/** Finds the ids of providers by `<workspace id>/<slug>`, those of one turn of the event loop in one query. */
export function batchedSlugs(db: Database): (key: string) => Promise<string | null> {
  const find = prepareLookups(db, ['uuid', 'text'], (asked: RawBuilder<{ workspace_id: string; slug: string }>) =>
    db
      .selectFrom(asked.as<'asked'>(sql`asked (workspace_id, slug)`))
      .innerJoin('providers', join =>
        join.onRef('providers.workspace_id', '=', 'asked.workspace_id').onRef('providers.slug', '=', 'asked.slug'),
      )
      .select(['providers.id', 'providers.workspace_id', 'providers.slug'])
      .compile(),
  )
  return batched(async (keys: readonly string[]) => {
    const rows = await find(keys.map(key => key.split('/', 2)))
    return new Map(rows.map(row => [`${row.workspace_id}/${row.slug}`, row.id]))
  })
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

/** The properties that do not affect how a provider is opened. */
type ProviderDetails = Pick<
  ProviderRecord,
  'name' | 'slug' | 'jobLimits' | 'trashDays' | 'versionCount' | 'versionDays'
>

/**
 * Updates a provider and increments its version, so that servers open it again. Returns null if the row no longer has `version`.
 * @throws a unique violation if the slug is taken
 */
export async function updateProvider(
  db: Change,
  { id, version }: Pick<ProviderRecord, 'id' | 'version'>,
  changes: Partial<
    ProviderDetails & Pick<ProviderRecord, 'config' | 'sealedSecrets' | 'status' | 'statusReason' | 'rootId'>
  >,
): Promise<ProviderRecord | null> {
  const { config, sealedSecrets, status, statusReason, rootId } = changes
  const row = await db
    .updateTable('providers')
    .set({
      ...toColumns(changes),
      ...(config !== undefined && { config: JSON.stringify(config) }),
      ...(sealedSecrets !== undefined && { secrets: sealedSecrets }),
      ...(status !== undefined && { status }),
      ...(statusReason !== undefined && { status_reason: statusReason }),
      ...(rootId !== undefined && { root_id: rootId }),
      version: version + 1,
    })
    .where('id', '=', id)
    .where('version', '=', version)
    .returningAll()
    .executeTakeFirst()
  return row ? toProvider(row) : null
}

/** Changes at least one of the details. @throws a unique violation if the slug is taken */
export async function updateProviderDetails(
  db: Change,
  id: string,
  changes: Partial<ProviderDetails>,
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

/**
 * Sets the status to what a call to the back end showed. Consent that is missing or has ended stays the status, because only
 * a person can give it.
 * @param failure why the provider does not work; null if it does
 */
export async function followProviderStatus(
  db: Database,
  of: Pick<ProviderRecord, 'id' | 'version'>,
  failure: string | null,
): Promise<void> {
  const changing = db.updateTable('providers').where('id', '=', of.id).where('version', '=', of.version)
  if (failure === null) {
    await changing.set({ status: 'CONNECTED', status_reason: null }).where('status', '=', 'UNAVAILABLE').execute()
  } else {
    await changing
      .set({ status: 'UNAVAILABLE', status_reason: failure })
      .where('status', 'in', ['CONNECTED', 'UNAVAILABLE'])
      .where('status_reason', 'is distinct from', failure)
      .execute()
  }
}

/** Changes that lock a provider run one after the other, until the end of their transactions. */
export async function lockProvider(db: Database, id: string): Promise<void> {
  await sql`select id from providers where id = ${id} for no key update`.execute(db)
}

/** Keeps others from locking or deleting a provider until the end of the transaction. */
export async function shareProvider(db: Database, id: string): Promise<void> {
  await sql`select id from providers where id = ${id} for share`.execute(db)
}

/** Until the end of the transaction, no other one compares roots. */
export async function lockRoots(db: Change): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('roots of providers'))`.execute(db)
}

export async function deleteProvider(db: Change, id: string): Promise<void> {
  // A transaction that changes a catalogue twice locks the provider after it. Another order here would be a deadlock.
  await sql`select id from catalogues where provider_id = ${id} for update`.execute(db)
  await db.deleteFrom('providers').where('id', '=', id).execute()
}

function toProvider(row: Selectable<Schema['providers']>): ProviderRecord {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    type: row.type,
    name: row.name,
    slug: row.slug,
    config: row.config,
    sealedSecrets: row.secrets,
    status: row.status,
    statusReason: row.status_reason,
    version: row.version,
    jobLimits: {
      filesAtOnce: row.job_files_at_once,
      bytesPerSecond: row.job_bytes_per_second === null ? null : Number(row.job_bytes_per_second),
    },
    trashDays: row.trash_days,
    versionCount: row.version_count,
    versionDays: row.version_days,
    encryption: row.encryption,
    sealedEncryption: row.encryption_secrets,
    rootId: row.root_id,
    createdAt: row.created_at,
  }
}

function toColumns({ name, slug, jobLimits, trashDays, versionCount, versionDays }: Partial<ProviderDetails>) {
  return {
    ...(name !== undefined && { name }),
    ...(slug !== undefined && { slug }),
    ...(trashDays !== undefined && { trash_days: trashDays }),
    ...(versionCount !== undefined && { version_count: versionCount }),
    ...(versionDays !== undefined && { version_days: versionDays }),
    ...(jobLimits && {
      job_files_at_once: jobLimits.filesAtOnce,
      job_bytes_per_second: jobLimits.bytesPerSecond,
    }),
  }
}
