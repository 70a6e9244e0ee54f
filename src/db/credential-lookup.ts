import type { ProviderVersion } from '../auth/viewer.ts'

/** A credential to look for, and the provider that its request names. */
export interface CredentialLookup<Value> {
  value: Value
  providerId: string | null
}

/** Returns the values that the query for a credential asks for: see `prepareLookups`. */
export function valuesOf({ value, providerId }: CredentialLookup<unknown>): [unknown, string | null] {
  return [value, providerId]
}

/** The columns of the provider that a request names, joined to its credential. */
export const seenProviderColumns = ['providers.id as seen_id', 'providers.version as seen_version'] as const

/** Returns null if the workspace of the credential has no such provider. */
export function toSeenProvider(row: { seen_id: string | null; seen_version: number | null }): ProviderVersion | null {
  return row.seen_id === null || row.seen_version === null ? null : { id: row.seen_id, version: row.seen_version }
}
