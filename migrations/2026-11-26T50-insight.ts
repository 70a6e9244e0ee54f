import { type Kysely, sql } from 'kysely'

/**
 * `catalogue_folders` has the number and the bytes of the files directly in each folder, so that the usage of a folder is a sum over
 * its folders and not over its files. Triggers keep it, so it cannot differ from the entries.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table catalogue_folders (
      files bigint not null,
      bytes bigint not null,
      catalogue integer not null,
      path text collate "C" not null check (octet_length(path) <= 2000),
      primary key (catalogue, path)
    )`.execute(db)
  await sql`create index catalogue_entries_sizes on catalogue_entries (catalogue, size) where not is_folder`.execute(db)
  await sql`create index catalogue_entries_times on catalogue_entries (catalogue, modified_at) where not is_folder`.execute(
    db,
  )
  // Each statement changes entries of one catalogue, whose lease one server has.
  const counts = (rows: string, sign: '' | '-') =>
    sql.raw(
      `select e.catalogue, regexp_replace(e.path, '/?[^/]*$', '') collate "C" as path, ${sign}1 as files, ${sign}coalesce(e.size, 0) as bytes from ${rows} e where not e.is_folder`,
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
      create function ${sql.raw(`count_${name}_files`)}() returns trigger language plpgsql as $$
      begin
        ${statement};
        ${sql.raw(
          name === 'added'
            ? ''
            : `delete from catalogue_folders f using (select distinct catalogue, regexp_replace(path, '/?[^/]*$', '') collate "C" as path from old_rows) o
          where f.catalogue = o.catalogue and f.path = o.path and f.files = 0;`,
        )}
        return null;
      end $$`.execute(db)
  }
  await sql`
    create trigger catalogue_entries_added after insert on catalogue_entries referencing new table as new_rows
      for each statement execute function count_added_files()`.execute(db)
  await sql`
    create trigger catalogue_entries_changed after update on catalogue_entries
      referencing new table as new_rows old table as old_rows
      for each statement execute function count_changed_files()`.execute(db)
  await sql`
    create trigger catalogue_entries_removed after delete on catalogue_entries referencing old table as old_rows
      for each statement execute function count_removed_files()`.execute(db)
  await sql`
    insert into catalogue_folders (catalogue, path, files, bytes)
    select catalogue, regexp_replace(path, '/?[^/]*$', '') collate "C", count(*), coalesce(sum(size), 0)
    from catalogue_entries where not is_folder group by 1, 2`.execute(db)
}
