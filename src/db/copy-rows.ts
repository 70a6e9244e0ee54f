/**
 * Copies all rows of one database to another that has the same tables: from an older PostgreSQL to a newer one, or between the
 * embedded database and one of your own. It needs the owner of the tables, and no superuser.
 */
import { pipeline } from 'node:stream/promises'
import type { Client } from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'

interface StoredTable {
  /** Both are quoted for SQL. */
  name: string
  columns: string
}

/**
 * Lists all tables. It omits generated columns, which the destination computes. Partitions count as tables; their
 * parents have no rows.
 */
const allTables = `
  select format('%I', c.relname) as name, string_agg(quote_ident(a.attname), ', ' order by a.attname) as columns
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
  group by 1 order by 1`

const allSequences = `
  select format('%I', relname) as name from pg_class
  where relkind = 'S' and relnamespace = current_schema()::regnamespace order by 1`

/** Constraints that refer to other rows, which may be copied later. Their definitions are complete for ALTER TABLE. */
const allReferences = `
  select format('%I', c.relname) as table, quote_ident(r.conname) as name, pg_get_constraintdef(r.oid) as definition
  from pg_constraint r join pg_class c on c.oid = r.conrelid
  where r.contype = 'f' and r.conparentid = 0 and c.relnamespace = current_schema()::regnamespace order by 1, 2`

/** The settings of pg_dump, so that one version can read the output of another. */
const exactFormats = `
  set datestyle = 'ISO'; set intervalstyle = 'postgres'; set extra_float_digits = 3; set client_encoding = 'UTF8';
  set statement_timeout = 0`

/**
 * Replaces the rows of the destination, in one transaction, by those of one moment of the source.
 * @returns the number of rows
 * @throws Error if the tables differ; the destination is then unchanged
 */
export async function copyRows(source: Client, destination: Client, signal: AbortSignal): Promise<number> {
  await source.query(exactFormats)
  await destination.query(exactFormats)
  await source.query('begin isolation level repeatable read read only')
  const tables = await listTables(source)
  if (JSON.stringify(tables) !== JSON.stringify(await listTables(destination))) {
    throw new Error('the migrations made other tables than those in the old database')
  }
  await destination.query('begin')
  const { rows: references } = await destination.query(allReferences)
  for (const { table, name } of references) await destination.query(`alter table ${table} drop constraint ${name}`)
  for (const { name } of tables) await destination.query(`alter table ${name} disable trigger user`)
  if (tables.length > 0) await destination.query(`truncate ${tables.map(({ name }) => name).join(', ')}`)
  let rows = 0
  for (const table of tables) rows += await copyTable(source, destination, table, signal)
  for (const name of await listSequences(source)) {
    const { rows: states } = await source.query(`select last_value, is_called from ${name}`)
    await destination.query('select setval($1::regclass, $2, $3)', [name, states[0].last_value, states[0].is_called])
  }
  for (const { name } of tables) await destination.query(`alter table ${name} enable trigger user`)
  for (const { table, name, definition } of references) {
    await destination.query(`alter table ${table} add constraint ${name} ${definition}`)
  }
  signal.throwIfAborted()
  await destination.query('commit')
  await source.query('commit')
  await destination.query('analyze')
  return rows
}

async function copyTable(
  source: Client,
  destination: Client,
  { name, columns }: StoredTable,
  signal: AbortSignal,
): Promise<number> {
  const reading = source.query(copyTo(`copy ${name} (${columns}) to stdout`))
  const writing = destination.query(copyFrom(`copy ${name} (${columns}) from stdin`))
  await pipeline(reading, writing, { signal })
  if (reading.rowCount !== writing.rowCount) {
    throw new Error(`only ${writing.rowCount} of ${reading.rowCount} rows of ${name} were copied`)
  }
  return writing.rowCount ?? 0
}

async function listTables(client: Client): Promise<StoredTable[]> {
  return (await client.query<StoredTable>(allTables)).rows
}

async function listSequences(client: Client): Promise<string[]> {
  return (await client.query<{ name: string }>(allSequences)).rows.map(row => row.name)
}
