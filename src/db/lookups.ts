import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
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
