import DataLoader from 'dataloader'
import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
import type { ProviderName, SeenProvider } from '../auth/viewer.ts'
import { type Database, executeWith, prepared } from './client.ts'

/**
 * Prepares a query for the rows of several keys. A single key, the most common case, has a statement of its own: PostgreSQL plans
 * that once for each connection. It plans a statement with arrays again and again, because it cannot tell how long they will be.
 *
 * @param types the types of the values that make up a key
 * @param compile builds the query; its parameter yields one row for each key
 */
export function prepareLookups<Key, Row>(
  db: Database,
  types: readonly string[],
  compile: (keys: RawBuilder<Key>) => CompiledQuery<Row>,
): (keys: readonly (readonly unknown[])[]) => Promise<Row[]> {
  const values = (suffix: string) => sql.join(types.map(type => sql`${null}::${sql.raw(type + suffix)}`))
  const one = prepared(compile(sql<Key>`(select ${values('')})`))
  const several = prepared(compile(sql<Key>`unnest(${values('[]')})`))
  return keys => {
    const [only, another] = keys
    if (only && !another) return executeWith(db, one, only)
    const columns = types.map((_, index) => keys.map(key => key[index]))
    return executeWith(db, several, columns)
  }
}

/**
 * Combines the lookups of one turn of the event loop into one query. Caches nothing: the query of each lookup begins after the
 * lookup.
 * @param options.isInTurn whether a query waits for the end of the one before, with all that arrives meanwhile: for statements that lock the
 * same rows
 */
export function batched<Key, Value>(
  query: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
  { isInTurn = false }: { isInTurn?: boolean } = {},
): (key: Key) => Promise<Value | null> {
  let last: Promise<unknown> = Promise.resolve()
  const loader = new DataLoader<Key, Value | null>(
    async keys => {
      const work = query([...new Set(keys)])
      last = work.catch(() => {})
      const found = await work
      return keys.map(key => found.get(key) ?? null)
    },
    {
      cache: false,
      batchScheduleFn: isInTurn ? run => void last.then(run) : run => void setImmediate(run),
      maxBatchSize: 500,
    },
  )
  return key => loader.load(key)
}

/** A credential to look for, and the provider that its request names. */
export interface CredentialLookup<Value> {
  value: Value
  provider: ProviderName | null
}

/** Returns the values that the query for a credential asks for: see `prepareLookups`. */
export function valuesOf({ value, provider }: CredentialLookup<unknown>): [unknown, string | null, string | null] {
  if (provider === null) return [value, null, null]
  return 'id' in provider ? [value, provider.id, null] : [value, null, provider.slug]
}

/** The SQL types of `valuesOf`. */
export function askedTypes(type: 'uuid' | 'bytea'): readonly string[] {
  return [type, 'uuid', 'text']
}

/** Names the rows of `valuesOf` in a query. */
export function asked(rows: RawBuilder<{ value: unknown }>) {
  return rows.as<'asked'>(sql`asked (value, provider_id, slug)`)
}

/** Returns the id of the provider that a row of `asked` names in the workspace of its credential. */
export function askedProviderId(workspaceId: 'api_keys.workspace_id' | 'sessions.workspace_id') {
  return sql<string>`coalesce(asked.provider_id,
    (select named.id from providers named where named.workspace_id = ${sql.ref(workspaceId)} and named.slug = asked.slug))`
}

/** The columns of the provider that a request names, joined to its credential. */
export const seenProviderColumns = [
  'providers.id as seen_id',
  'providers.version as seen_version',
  'providers.slug as seen_slug',
] as const

/** Returns null if the workspace of the credential has no such provider. */
export function toSeenProvider(row: {
  seen_id: string | null
  seen_version: number | null
  seen_slug: string | null
}): SeenProvider | null {
  const { seen_id: id, seen_version: version, seen_slug: slug } = row
  return id === null || version === null || slug === null ? null : { id, version, slug }
}
