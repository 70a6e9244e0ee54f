import { common } from '../texts/common.ts'

/** Absolute paths within a provider. */

export interface StorageLocation {
  providerId: string
  path: string
}

export function childPath(folder: string, name: string): string {
  return folder === '/' ? `/${name}` : `${folder}/${name}`
}

export function parentPath(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

export function nameOfPath(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

export function isWithin(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`)
}

/**
 * Returns why people cannot choose a name, or null. The server checks names completely. It accepts outer spaces, because
 * storages hold such names, but a person who enters one means another name.
 */
export function validateName(name: string): string | null {
  if (name.includes('/')) return common.noSlash
  const trimmed = name.trim()
  if (trimmed === name) return null
  return trimmed === '' ? common.onlySpaces : common.outerSpaces
}

/** Returns the folders from below `top` down to `path`, both as names and as paths. */
export function ancestors(path: string, top: string): { name: string; path: string }[] {
  const found: { name: string; path: string }[] = []
  for (let at = path; at !== top && at !== '/'; at = parentPath(at)) found.unshift({ name: nameOfPath(at), path: at })
  return found
}

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
