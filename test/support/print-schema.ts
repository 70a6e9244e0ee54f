import { sql } from 'kysely'
import type { Database } from '../../src/db/client.ts'

/** Prints the tables of a database in a form that is the same on every version of PostgreSQL. */
export async function printSchema(db: Database): Promise<string> {
  const { rows } = await sql<{ line: string }>`
    select line from (
      select c.relname, 0 as part, a.attnum as position, format('%s.%s %s%s%s', c.relname, a.attname,
        format_type(a.atttypid, a.atttypmod), case when a.attnotnull then ' not null' end,
        ' default ' || pg_get_expr(d.adbin, d.adrelid)) as line
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped
      union all
      select c.relname, 1, 0, format('%s: %s %s', c.relname, o.conname, pg_get_constraintdef(o.oid))
      from pg_constraint o join pg_class c on c.oid = o.conrelid
      where c.relnamespace = 'public'::regnamespace and o.contype <> 'n'
      union all
      select c.relname, 2, 0, pg_get_indexdef(i.indexrelid)
      from pg_index i join pg_class c on c.oid = i.indrelid
      where c.relnamespace = 'public'::regnamespace
      union all
      select c.relname, 3, 0, pg_get_triggerdef(g.oid)
      from pg_trigger g join pg_class c on c.oid = g.tgrelid
      where c.relnamespace = 'public'::regnamespace and not g.tgisinternal
    ) as described
    where relname not like 'kysely_%'
    order by relname collate "C", part, position, line collate "C"`.execute(db)
  return `${rows.map(({ line }) => line).join('\n')}\n`
}
