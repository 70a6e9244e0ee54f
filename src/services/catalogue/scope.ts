/** Turns a grant into the ranges of paths that a query of the catalogues may read. The SQL of the query contains them. */
import { basePathsIn, type ProviderAccess } from '../../auth/access.ts'
import { isId } from '../../auth/id.ts'
import type { StoragePath } from '../../auth/path.ts'
import type { SearchGrant } from '../../auth/policy.ts'
import { type Catalogue, findCatalogues, listCatalogues } from '../../db/catalogue/catalogues.ts'
import type { Database } from '../../db/client.ts'
import { findProviders, listProviders, type ProviderRecord } from '../../db/providers.ts'
import { AppError } from '../../errors.ts'

export interface CatalogueScope {
  providers: ProviderRecord[]
  catalogues: Catalogue[]
  /** The folders, each with everything below it. Catalogues with the mode OFF have none. */
  ranges: { catalogue: number; path: StoragePath }[]
  /** Returns the provider of a catalogue of the scope. */
  providerOf(catalogue: number): ProviderRecord
}

/** @throws NOT_FOUND for a named provider that does not exist */
export async function readScope(db: Database, granted: SearchGrant): Promise<CatalogueScope> {
  const [providers, found] = await findScope(db, granted)
  const byId = new Map(providers.map(provider => [provider.id, provider]))
  // A provider may have been connected between the two queries.
  const catalogues = found.filter(({ providerId }) => providerId !== null && byId.has(providerId))
  const byCatalogue = new Map(catalogues.map(({ id, providerId }) => [id, byId.get(providerId ?? '')]))
  return {
    providers,
    catalogues,
    ranges: rangesOf(granted.access, catalogues),
    providerOf(catalogue) {
      const provider = byCatalogue.get(catalogue)
      if (!provider) throw new Error('A catalogue of the scope has no provider.')
      return provider
    },
  }
}

/** Returns the providers of a grant, and their catalogues, perhaps with others. @throws NOT_FOUND */
async function findScope(
  db: Database,
  { workspaceId, access, isNamed }: SearchGrant,
): Promise<[ProviderRecord[], Catalogue[]]> {
  if (access.all) return Promise.all([listProviders(db, workspaceId), listCatalogues(db, workspaceId)])
  const named = [...access.basePaths.keys()]
  // A text from a client may be no id at all.
  const ids = named.filter(isId)
  const [found, catalogues] = await Promise.all([findProviders(db, ids), findCatalogues(db, ids)])
  const providers = found.filter(provider => provider.workspaceId === workspaceId)
  if (isNamed && providers.length < named.length) throw new AppError('NOT_FOUND', 'There is no such provider.')
  return [providers, catalogues]
}

function rangesOf(access: ProviderAccess, catalogues: readonly Catalogue[]): CatalogueScope['ranges'] {
  return catalogues.flatMap(({ id, providerId, mode }) =>
    mode === 'OFF' || providerId === null
      ? []
      : (basePathsIn(access, providerId) ?? []).map(path => ({ catalogue: id, path })),
  )
}

/** Returns whether a catalogue has all entries of its provider, except those of changes that were made just now. */
export function isWhole({ mode, indexedAt, hasGaps, isFollowed }: Catalogue): boolean {
  return mode !== 'OFF' && indexedAt !== null && !hasGaps && isFollowed
}

/** PostgreSQL's condition `query_canceled`. */
const canceled = '57014'

/** Throws the error of a query, as UNAVAILABLE if the query took too long. @param advice what to do then */
export function throwTooSlow(error: unknown, advice: string): never {
  if (error instanceof Error && 'code' in error && error.code === canceled) {
    throw new AppError('UNAVAILABLE', `This takes too long: ${advice}.`, { cause: error })
  }
  throw error
}
