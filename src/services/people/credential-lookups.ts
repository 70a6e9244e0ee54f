import { basePathsIn, type ProviderAccess } from '../../auth/access.ts'
import type { ProviderName, SeenProvider } from '../../auth/viewer.ts'
import { batched, type CredentialLookup } from '../../db/lookups.ts'
import type { RightsMemory, Versioned } from './rights-memory.ts'

/**
 * Returns a function that finds a credential together with the provider that its request names. Lookups that arrive together
 * share a query, and later ones use the memory.
 * @param query.valueOf converts the text of a credential, which contains no space, to its value in the database
 */
export function rememberedLookups<Value, Found extends Versioned & { seenProvider: SeenProvider | null }>(query: {
  memory: RightsMemory
  /** Names the credentials in the memory. */
  kind: string
  find: (lookups: readonly CredentialLookup<Value>[]) => Promise<Found[]>
  valueOf: (text: string) => Value
  textOf: (found: Found) => string
  accessOf: (found: Found) => ProviderAccess
}): (text: string, provider: ProviderName | null) => Promise<Found | null> {
  const load = batched(async (keys: readonly string[]) => {
    const rows = await query.find(
      keys.map(partsOf).map(({ text, provider }) => ({ value: query.valueOf(text), provider })),
    )
    const found = new Map(rows.flatMap(row => keysOf(query.textOf(row), row.seenProvider).map(key => [key, row])))
    const results = new Map<string, Found>()
    for (const key of keys) {
      // Without such a provider, the row has none.
      const row = found.get(key) ?? found.get(keyOf(partsOf(key).text, null))
      if (row) results.set(key, row)
    }
    return results
  })
  // Otherwise, the time of a response would tell hidden providers, which exist, from missing ones.
  const isVisible = (found: Found) =>
    found.seenProvider !== null && basePathsIn(query.accessOf(found), found.seenProvider.id) !== null
  const find = query.memory.remembering(
    query.kind,
    load,
    (found, key) => partsOf(key).provider === null || isVisible(found),
  )
  return (text, provider) => find(keyOf(text, provider))
}

/** Returns the keys of the lookups that a row is the result of. */
function keysOf(text: string, seen: SeenProvider | null): string[] {
  return seen ? [keyOf(text, { id: seen.id }), keyOf(text, { slug: seen.slug })] : [keyOf(text, null)]
}

function keyOf(text: string, provider: ProviderName | null): string {
  if (provider === null) return `${text}  `
  return 'id' in provider ? `${text} id ${provider.id}` : `${text} slug ${provider.slug}`
}

function partsOf(key: string): { text: string; provider: ProviderName | null } {
  const [text = '', kind, name = ''] = key.split(' ', 3)
  if (kind === '') return { text, provider: null }
  return { text, provider: kind === 'id' ? { id: name } : { slug: name } }
}
