import { isWithin, parsePath, root, type StoragePath } from './path.ts'

/** The base paths in one provider, in a fixed order. None lies in another. */
export type BasePaths = readonly [StoragePath, ...StoragePath[]]

/**
 * The providers that a member or a key may access. `all` includes every provider of the workspace, even those connected
 * later. Otherwise only the listed ones are included, each below its base paths.
 */
export type ProviderAccess = { all: true } | { all: false; basePaths: ReadonlyMap<string, BasePaths> }

/** `ProviderAccess` as stored in a `jsonb` column. */
export type StoredAccess = { all: true } | { all: false; restrictions: { providerId: string; basePath: string }[] }

export const allProviders: ProviderAccess = { all: true }
export const noProviders: ProviderAccess = { all: false, basePaths: new Map() }

/** Returns the access to some folders. A folder inside another one of them adds nothing. */
export function accessTo(folders: Iterable<readonly [providerId: string, folder: StoragePath]>): ProviderAccess {
  const grouped = Map.groupBy(folders, ([providerId]) => providerId)
  const basePaths = new Map<string, BasePaths>()
  for (const [providerId, group] of grouped) basePaths.set(providerId, topmost(group.map(([, folder]) => folder)))
  return { all: false, basePaths }
}

/** Returns the paths that lie in no other one. */
function topmost(paths: readonly StoragePath[]): BasePaths {
  // With "/" behind it, a path comes directly before those in it.
  const keyOf = (path: StoragePath) => (path === root ? '' : `${path}/`)
  const [first = root, ...others] = paths.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const tops: [StoragePath, ...StoragePath[]] = [first]
  for (const path of others) if (!isWithin(path, tops.at(-1) ?? first)) tops.push(path)
  return tops
}

const wholeProvider: BasePaths = [root]

/** Returns the topmost accessible paths in a provider; null if the provider is not accessible. */
export function basePathsIn(access: ProviderAccess, providerId: string): BasePaths | null {
  return access.all ? wholeProvider : (access.basePaths.get(providerId) ?? null)
}

/** Returns whether a path and everything below it is accessible. */
export function includesPath(access: ProviderAccess, providerId: string, path: StoragePath): boolean {
  return basePathsIn(access, providerId)?.some(base => isWithin(path, base)) ?? false
}

/** Returns the access that both have. */
export function intersectAccess(a: ProviderAccess, b: ProviderAccess): ProviderAccess {
  if (a.all) return b
  if (b.all) return a
  return accessTo([...foldersOf(a, b), ...foldersOf(b, a)])
}

/** Lists the base paths of one access that the other one includes. */
function* foldersOf(access: RestrictedAccess, other: RestrictedAccess) {
  for (const folder of listBasePaths(access)) if (includesPath(other, ...folder)) yield folder
}

/** Returns the access that any of them has. */
export function uniteAccess(accesses: readonly ProviderAccess[]): ProviderAccess {
  if (accesses.some(access => access.all)) return allProviders
  return accessTo(accesses.flatMap(access => (access.all ? [] : [...listBasePaths(access)])))
}

export type RestrictedAccess = Extract<ProviderAccess, { all: false }>

/** Lists all base paths with their providers. */
export function* listBasePaths({ basePaths }: RestrictedAccess): Generator<readonly [string, StoragePath]> {
  for (const [providerId, paths] of basePaths) for (const path of paths) yield [providerId, path]
}

/** Returns whether `outer` includes all of `inner`, now and after more providers are connected. */
export function containsAccess(outer: ProviderAccess, inner: ProviderAccess): boolean {
  if (outer.all) return true
  if (inner.all) return false
  return [...listBasePaths(inner)].every(folder => includesPath(outer, ...folder))
}

export function storeAccess(access: ProviderAccess): StoredAccess {
  if (access.all) return { all: true }
  return {
    all: false,
    restrictions: [...listBasePaths(access)].map(([providerId, base]) => ({ providerId, basePath: `/${base}` })),
  }
}

/** Parses stored access. A value that was altered by hand and is invalid grants nothing. */
export function restoreAccess(stored: StoredAccess): ProviderAccess {
  if (stored.all === true) return allProviders
  try {
    return accessTo(stored.restrictions.map(r => [r.providerId, parsePath(r.basePath)] as const))
  } catch {
    return noProviders
  }
}
