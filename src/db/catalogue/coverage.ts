/** Finds what the catalogues do not know yet in the folders of a search. */
import { sql } from 'kysely'
import type { Database } from '../client.ts'
import type { SearchRange } from './search.ts'

type CoveredRange = Omit<SearchRange, 'gram'>

/** Returns the catalogues in which these ranges contain, or lie in, a folder that has changed and is not in the catalogue yet. */
export async function findUnsettled(db: Database, ranges: readonly CoveredRange[]): Promise<ReadonlySet<number>> {
  const { rows } = await sql<{ catalogue: number }>`
    select distinct h.catalogue from catalogue_changes h cross join lateral (values (h.path), (h.to_path)) as e (path)
    where h.kind not in ('ENTRY', 'CREATED') and e.path is not null
      and exists (
        select from unnest(${ranges.map(({ catalogue }) => catalogue)}::integer[], ${ranges.map(({ path }) => path)}::text[])
          as r (catalogue, path)
        where r.catalogue = h.catalogue and (r.path = '' or e.path = r.path or starts_with(e.path, r.path || '/')
          or starts_with(r.path, e.path || '/')))`.execute(db)
  return new Set(rows.map(({ catalogue }) => catalogue))
}

/** Returns the catalogues in which files in these ranges wait to be read. */
export async function findUnread(db: Database, ranges: readonly CoveredRange[]): Promise<ReadonlySet<number>> {
  const { rows } = await sql<{ catalogue: number }>`
    select distinct r.catalogue
    from unnest(${ranges.map(({ catalogue }) => catalogue)}::integer[], ${ranges.map(({ path }) => path)}::text[])
      as r (catalogue, path)
    where exists (select from catalogue_contents c where c.catalogue = r.catalogue and c.state = 'WAITING'
      and case when r.path = '' then true else c.path >= r.path and c.path < r.path || '0'
        and (c.path = r.path or starts_with(c.path, r.path || '/')) end)`.execute(db)
  return new Set(rows.map(({ catalogue }) => catalogue))
}
