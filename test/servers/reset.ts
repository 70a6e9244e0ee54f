/**
 * Gives a database its first rows again, so that the next test can use it with the connections that exist: a new database and its
 * connections take PostgreSQL a third of a second of processor time.
 */
import type pg from 'pg'

/** Rows of all tables together that are deleted at most. A new database takes less time than more of them. */
const mostRows = 20_000

/** A number that differs after a change of the structure, of the statistics, or of the settings of the database. */
const structure = `(
  select sum(hashtext(part)::bigint) from (
    select 'class' || oid || xmin || relkind::text || reltuples from pg_class where relnamespace = 'public'::regnamespace
    union all select 'column' || attrelid || attnum || a.xmin from pg_attribute a join pg_class c on c.oid = attrelid
      where relnamespace = 'public'::regnamespace and attnum > 0
    union all select 'default' || oid || xmin from pg_attrdef
    union all select 'constraint' || oid || xmin from pg_constraint where connamespace = 'public'::regnamespace
    union all select 'trigger' || oid || xmin from pg_trigger
    union all select 'function' || oid || xmin from pg_proc where pronamespace = 'public'::regnamespace
    union all select 'setting' || setrole || setconfig::text from pg_db_role_setting
      where setdatabase = (select oid from pg_database where datname = current_database())
    union all select 'schema' || oid || xmin from pg_namespace where nspname !~ '^pg_(toast_)?temp'
  ) parts (part))`

/**
 * Returns the statements for all copies of a database. They fail if a copy has another structure, has too many rows or advisory
 * locks.
 */
export async function resetStatements(client: pg.Client): Promise<string> {
  const value = async (query: string) =>
    (await client.query<{ value: string | null }>(query)).rows.map(row => row.value)
  const [before] = await value(`select ${structure} as value`)
  const tables = await value(
    `select quote_ident(relname) as value from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  )
  const sequences = await value(
    `select quote_ident(relname) as value from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace`,
  )
  const deletions = tables.map(
    table => `if exists (select from ${table}) then
      delete from ${table};
      get diagnostics deleted = row_count;
      total := total + deleted;
    end if;`,
  )
  const insertions = []
  for (const table of tables) {
    const [rows] = await value(`select jsonb_agg(t)::text as value from ${table} t`)
    if (rows == null) continue
    const columns = await value(
      `select string_agg(quote_ident(attname), ', ') as value from pg_attribute
       where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    )
    insertions.push(
      `insert into ${table} (${columns[0]}) overriding system value
       select ${columns[0]} from jsonb_populate_recordset(null::${table}, $rows$${rows}$rows$);`,
    )
  }
  const restarts = []
  for (const sequence of sequences) {
    const [state] = await value(`select last_value || ', ' || is_called as value from ${sequence}`)
    restarts.push(`perform setval('${sequence}', ${state});`)
  }
  return `do $reset$
    declare deleted bigint; total bigint := 0;
    begin
      if ${structure} <> ${before} then raise 'another structure'; end if;
      if exists (select from pg_locks where locktype = 'advisory' and database =
        (select oid from pg_database where datname = current_database())) then raise 'locked'; end if;
      set local session_replication_role = replica;
      ${deletions.join('\n')}
      if total > ${mostRows} then raise 'too many rows'; end if;
      ${insertions.join('\n')}
      ${restarts.join('\n')}
    end $reset$`
}
