/** The changes that the catalogues do not have yet: see `CatalogueChangeKind`. */
import { sql } from 'kysely'
import type { StoragePath } from '../../auth/path.ts'
import type { Database } from '../client.ts'
import type { CatalogueChangeKind } from '../schema.ts'

export interface CatalogueChange {
  id: string
  kind: CatalogueChangeKind
  path: StoragePath
  /** Where a MOVED folder is now; null if its path is too long for the catalogue. */
  toPath: StoragePath | null
  /** How far the work has come; null at its beginning. */
  next: string | null
  /** The back end has reported it. */
  isOutside: boolean
}

/** Returns the oldest changes, in their order. @param isTree whether to return the changes of the kind TREE, or all others */
export async function listChanges(
  db: Database,
  catalogue: number,
  { isTree, limit }: { isTree: boolean; limit: number },
): Promise<CatalogueChange[]> {
  const rows = await db
    .selectFrom('catalogue_changes')
    .select(['id', 'kind', 'path', 'to_path', 'next', 'is_outside'])
    .where('catalogue', '=', catalogue)
    .where('kind', isTree ? '=' : '!=', 'TREE')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id, kind, path, to_path, next, is_outside }) => ({
    id,
    kind,
    path: path as StoragePath,
    toPath: to_path as StoragePath | null,
    next,
    isOutside: is_outside,
  }))
}

/** Adds changes of the kind TREE, except those that wait already. */
export async function addTrees(
  db: Database,
  catalogue: number,
  paths: readonly string[],
  isOutside: boolean,
): Promise<void> {
  if (paths.length === 0) return
  await sql`
    insert into catalogue_changes (catalogue, kind, path, is_outside)
    select ${catalogue}, 'TREE', t.path, ${isOutside} from unnest(${paths}::text[]) t (path)
    where not exists (select from catalogue_changes c where c.catalogue = ${catalogue} and c.kind = 'TREE' and c.path = t.path
      and c.next is null and c.is_outside = ${isOutside})`.execute(db)
}

/** Adds changes of the kind FOLDER that a back end has reported, except those that wait already. */
export async function addReportedFolders(db: Database, catalogue: number, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return
  await sql`
    insert into catalogue_changes (catalogue, kind, path, is_outside)
    select ${catalogue}, 'FOLDER', f.path, true from unnest(${paths}::text[]) f (path)
    where not exists (select from catalogue_changes c
      where c.catalogue = ${catalogue} and c.kind = 'FOLDER' and c.path = f.path)`.execute(db)
}

export async function setNext(db: Database, catalogue: number, id: string, next: string): Promise<void> {
  await db
    .updateTable('catalogue_changes')
    .set({ next })
    .where('catalogue', '=', catalogue)
    .where('id', '=', id)
    .execute()
}

export async function endChanges(db: Database, catalogue: number, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await db
    .deleteFrom('catalogue_changes')
    .where('catalogue', '=', catalogue)
    .where(sql<boolean>`id = any(${ids}::bigint[])`)
    .execute()
}

/**
 * Notes that a folder was deleted or has moved, so that the search shows nothing at or below its paths until the catalogue has the
 * change. Does nothing for a provider without a catalogue.
 */
export async function hideFolder(
  db: Database,
  from: { providerId: string; path: StoragePath },
  to: { providerId: string; path: StoragePath } | null,
): Promise<void> {
  const isInside = to?.providerId === from.providerId
  const moved = isInside ? { kind: 'MOVED', toPath: to.path } : { kind: 'REMOVED', toPath: null }
  await sql`
    insert into catalogue_changes (catalogue, kind, path, to_path)
    select c.id, x.kind, x.path, x.to_path from catalogues c
    join (values (${from.providerId}::uuid, ${moved.kind}, ${from.path}, ${moved.toPath}::text)) x (provider_id, kind, path, to_path)
      on x.provider_id = c.provider_id
    where c.mode <> 'OFF' and c.followed_at > now() - interval '10 minutes' and octet_length(x.path) <= 2000
      and coalesce(octet_length(x.to_path), 0) <= 2000`.execute(db)
}

/**
 * Notes when to look at an entry that changes, or may change, without an event of the audit log. Does nothing for a provider without a
 * catalogue.
 * @param seconds from now, for each look
 */
export async function expectChange(
  db: Database,
  { providerId, path }: { providerId: string; path: StoragePath },
  seconds: readonly number[],
): Promise<void> {
  await sql`
    insert into catalogue_expected (due_at, catalogue, path)
    select now() + make_interval(secs => s.seconds), c.id, p.path
    from catalogues c cross join (values (${path})) p (path) cross join unnest(${seconds}::float8[]) s (seconds)
    where c.provider_id = ${providerId} and c.mode <> 'OFF' and octet_length(p.path) between 1 and 2000`.execute(db)
}

/** Adds the looks that are due as if the back end had reported the changes. */
export async function addExpected(db: Database): Promise<void> {
  await sql`
    with due as (delete from catalogue_expected where due_at <= now() returning catalogue, path)
    insert into catalogue_changes (catalogue, kind, path, is_outside)
    select distinct d.catalogue, 'ENTRY', d.path, true from due d join catalogues c on c.id = d.catalogue
    where c.mode <> 'OFF' and c.provider_id is not null`.execute(db)
}
