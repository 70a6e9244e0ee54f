/** Paths within a provider, absolute as the server has them, and the addresses of their pages. */

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

/** The address of a folder's page. */
export function folderHref(providerId: string, path: string): string {
  const rest = path === '/' ? '' : path.split('/').map(encodeURIComponent).join('/')
  return `/files/${encodeURIComponent(providerId)}${rest}`
}

/** Null where the address names no path, or one that is malformed. */
export function pathOfHref(pathname: string): string | null {
  const segments = pathname.split('/').slice(3).filter(Boolean)
  if (segments.length === 0) return null
  try {
    return `/${segments.map(decodeURIComponent).join('/')}`
  } catch {
    return null
  }
}

/** From each folder below `top` down to `path`, `top` itself left out. */
export function ancestors(path: string, top: string): { name: string; path: string }[] {
  const found: { name: string; path: string }[] = []
  for (let at = path; at !== top && at !== '/'; at = parentPath(at)) found.unshift({ name: nameOfPath(at), path: at })
  return found
}
