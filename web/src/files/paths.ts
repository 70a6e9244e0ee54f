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

/** The router's paths end at them; behind a NUL, which no name has, they are letters. */
const lineEnds = ['\n', '\r', '\u2028', '\u2029']
const letters = 'nrls'

function encodeSegment(name: string): string {
  return encodeURIComponent(name.replace(/[\n\r\u2028\u2029]/g, end => `\0${letters[lineEnds.indexOf(end)]}`))
}

function decodeSegment(segment: string): string {
  const parts = decodeURIComponent(segment).split('\0')
  return parts
    .map((part, index) => (index > 0 ? (lineEnds[letters.indexOf(part.charAt(0))] ?? '') + part.slice(1) : part))
    .join('')
}

/** The address of a folder's page. */
export function folderHref(providerId: string, path: string): string {
  const rest = path === '/' ? '' : path.split('/').map(encodeSegment).join('/')
  return `/files/${encodeURIComponent(providerId)}${rest}`
}

/** Null where the address names no path, or one that is malformed. */
export function pathOfHref(pathname: string): string | null {
  const segments = pathname.split('/').slice(3).filter(Boolean)
  if (segments.length === 0) return null
  try {
    return `/${segments.map(decodeSegment).join('/')}`
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
