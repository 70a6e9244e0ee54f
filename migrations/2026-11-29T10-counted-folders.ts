import { type Kysely, sql } from 'kysely'

/** The folder of a path without a regular expression, which took a twentieth of the time of a first fill. */
export async function up(db: Kysely<never>): Promise<void> {
  const folder = (path: string) =>
    `(case strpos(${path}, '/') when 0 then '' else left(${path}, -strpos(reverse(${path}), '/')) end) collate "C"`
  const counts = (rows: string, sign: '' | '-') =>
    sql.raw(
      `select e.catalogue, ${folder('e.path')} as path, ${sign}1 as files, ${sign}coalesce(e.size, 0) as bytes from ${rows} e where not e.is_folder`,
    )
  const add = (changes: ReturnType<typeof sql>) => sql`
    insert into catalogue_folders as f (catalogue, path, files, bytes)
    select c.catalogue, c.path, sum(c.files), sum(c.bytes) from (${changes}) c group by c.catalogue, c.path
    having sum(c.files) <> 0 or sum(c.bytes) <> 0
    order by c.catalogue, c.path
    on conflict (catalogue, path) do update set files = f.files + excluded.files, bytes = f.bytes + excluded.bytes`
  const functions = {
    added: add(counts('new_rows', '')),
    changed: add(sql`${counts('new_rows', '')} union all ${counts('old_rows', '-')}`),
    removed: add(counts('old_rows', '-')),
  }
  for (const [name, statement] of Object.entries(functions)) {
    await sql`
      create or replace function ${sql.raw(`count_${name}_files`)}() returns trigger language plpgsql as $$
      begin
        ${statement};
        ${sql.raw(
          name === 'added'
            ? ''
            : `delete from catalogue_folders f using (select distinct catalogue, ${folder('path')} as path from old_rows) o
          where f.catalogue = o.catalogue and f.path = o.path and f.files = 0;`,
        )}
        return null;
      end $$`.execute(db)
  }
}
