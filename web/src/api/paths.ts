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

/** Returns why a name is not allowed, or null. The server checks names completely. */
export function validateName(name: string): string | null {
  return name.includes('/') ? common.noSlash : null
}

/** Returns the folders from below `top` down to `path`, both as names and as paths. */
export function ancestors(path: string, top: string): { name: string; path: string }[] {
  const found: { name: string; path: string }[] = []
  for (let at = path; at !== top && at !== '/'; at = parentPath(at)) found.unshift({ name: nameOfPath(at), path: at })
  return found
}
