import { type Kysely, sql } from 'kysely'

/** Existing providers get slugs made from their names, the oldest first. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table providers add column slug text collate "C"`.execute(db)
  const { rows } = await sql<{ id: string; workspace_id: string; name: string }>`
    select id, workspace_id, name from providers order by created_at, id`.execute(db)
  const taken = new Set<string>()
  for (const { id, workspace_id, name } of rows) {
    let slug = slugOf(name)
    for (let number = 2; taken.has(`${workspace_id} ${slug}`); number++) slug = `${slugOf(name)}-${number}`
    taken.add(`${workspace_id} ${slug}`)
    await sql`update providers set slug = ${slug} where id = ${id}`.execute(db)
  }
  await sql`
    alter table providers
      alter column slug set not null,
      add constraint providers_slug_check
        check (slug ~ '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$' and octet_length(slug) <= 63),
      add constraint providers_workspace_slug unique (workspace_id, slug)`.execute(db)
}

function slugOf(name: string): string {
  const ascii = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const words = ascii.split(/[^a-z0-9]+/).filter(word => word !== '')
  const slug = words.join('-').slice(0, 50).replace(/-$/, '')
  if (slug === '') return 'storage'
  return slug.length < 3 ? `storage-${slug}` : slug
}
