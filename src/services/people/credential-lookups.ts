import type { ProviderVersion } from '../../auth/viewer.ts'
import { batched } from '../../db/batched.ts'
import type { CredentialLookup } from '../../db/credential-lookup.ts'

/**
 * Returns a function that finds a credential together with the provider that its request names. Lookups that arrive together
 * share a query.
 * @param query.valueOf converts the text of a credential, which contains no space, to its value in the database
 */
export function batchedLookups<Value, Found extends { seenProvider: ProviderVersion | null }>(query: {
  find: (lookups: readonly CredentialLookup<Value>[]) => Promise<Found[]>
  valueOf: (text: string) => Value
  textOf: (found: Found) => string
}): (text: string, providerId: string | null) => Promise<Found | null> {
  const load = batched(async (keys: readonly string[]) => {
    const rows = await query.find(
      keys.map(partsOf).map(([text, id]) => ({ value: query.valueOf(text), providerId: id })),
    )
    const found = new Map(rows.map(row => [keyOf(query.textOf(row), row.seenProvider?.id ?? null), row]))
    const results = new Map<string, Found>()
    for (const key of keys) {
      // Without such a provider, the row has none.
      const row = found.get(key) ?? found.get(keyOf(partsOf(key)[0], null))
      if (row) results.set(key, row)
    }
    return results
  })
  return (text, providerId) => load(keyOf(text, providerId))
}

function keyOf(text: string, providerId: string | null): string {
  return `${text} ${providerId ?? ''}`
}

function partsOf(key: string): [text: string, providerId: string | null] {
  const end = key.indexOf(' ')
  return [key.slice(0, end), key.slice(end + 1) || null]
}
