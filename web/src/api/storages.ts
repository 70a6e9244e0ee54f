import { isWithin, type StorageLocation } from './paths.ts'

interface AccessibleProvider {
  id: string
  name: string
  /** The topmost folders that the viewer may see. */
  basePaths: readonly string[]
}

/**
 * Returns one storage for each topmost folder that the viewer may see. Where a provider has several, the name says which one
 * it is: "Disk /photos".
 */
export function perRoot<P extends AccessibleProvider>(
  providers: readonly P[],
): (Omit<P, 'basePaths'> & { root: { path: string } })[] {
  return providers.flatMap(({ basePaths, ...provider }) =>
    basePaths.map(path => ({
      ...provider,
      root: { path },
      name: basePaths.length > 1 ? `${provider.name} ${path}` : provider.name,
    })),
  )
}

/** Returns the storage that a location is in, or else one with its provider. */
export function storageAt<S extends { id: string; root: { path: string } }>(
  storages: readonly S[],
  { providerId, path }: StorageLocation,
): S | undefined {
  const some = storages.filter(({ id }) => id === providerId)
  return some.find(({ root }) => isWithin(path, root.path)) ?? some[0]
}
