import { type RawBuilder, sql } from 'kysely'
import type { ProviderName, SeenProvider } from '../auth/viewer.ts'

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
  sql<boolean>`exists (select from webdav_locks where provider_id = providers.id and expires_at > now())`.as(
    'seen_has_locks',
  ),
] as const

/** Returns null if the workspace of the credential has no such provider. */
export function toSeenProvider(row: {
  seen_id: string | null
  seen_version: number | null
  seen_slug: string | null
  seen_has_locks: boolean
}): SeenProvider | null {
  const { seen_id: id, seen_version: version, seen_slug: slug, seen_has_locks: hasLocks } = row
  return id === null || version === null || slug === null ? null : { id, version, slug, hasLocks }
}
