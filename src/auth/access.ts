import { isWithin, parsePath, root, type StoragePath } from './path.ts'

/**
 * The providers that a member or a key may access. `all` includes every provider of the workspace, even those connected
 * later. Otherwise only the listed ones are included, each below its base path.
 */
export type ProviderAccess = { all: true } | { all: false; basePaths: ReadonlyMap<string, StoragePath> }

/** `ProviderAccess` as stored in a `jsonb` column. */
export type StoredAccess = { all: true } | { all: false; restrictions: { providerId: string; basePath: string }[] }

export const allProviders: ProviderAccess = { all: true }
export const noProviders: ProviderAccess = { all: false, basePaths: new Map() }

/** Returns the topmost accessible path in a provider; null if the provider is not accessible. */
export function basePathIn(access: ProviderAccess, providerId: string): StoragePath | null {
  return access.all ? root : (access.basePaths.get(providerId) ?? null)
}

/** Returns the access that both have. */
export function intersectAccess(a: ProviderAccess, b: ProviderAccess): ProviderAccess {
  if (a.all) return b
  if (b.all) return a
  const basePaths = new Map<string, StoragePath>()
  for (const [providerId, base] of a.basePaths) {
    const other = b.basePaths.get(providerId)
    if (other === undefined) continue
    if (isWithin(base, other)) basePaths.set(providerId, base)
    else if (isWithin(other, base)) basePaths.set(providerId, other)
  }
  return { all: false, basePaths }
}

/** Returns whether `outer` includes all of `inner`, now and after more providers are connected. */
export function containsAccess(outer: ProviderAccess, inner: ProviderAccess): boolean {
  if (outer.all) return true
  if (inner.all) return false
  return [...inner.basePaths].every(([providerId, base]) => {
    const limit = outer.basePaths.get(providerId)
    return limit !== undefined && isWithin(base, limit)
  })
}

export function storeAccess(access: ProviderAccess): StoredAccess {
  if (access.all) return { all: true }
  return {
    all: false,
    restrictions: [...access.basePaths].map(([providerId, base]) => ({ providerId, basePath: `/${base}` })),
  }
}

/** Parses stored access. A value that was altered by hand and is invalid grants nothing. */
export function restoreAccess(stored: StoredAccess): ProviderAccess {
  if (stored.all === true) return allProviders
  try {
    return { all: false, basePaths: new Map(stored.restrictions.map(r => [r.providerId, parsePath(r.basePath)])) }
  } catch {
    return noProviders
  }
}
