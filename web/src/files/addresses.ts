/** The addresses of folder pages. */
import { nameOfPath, parentPath, type StorageLocation } from '../api/locations.ts'

/**
 * The router ends a path at a line break, so each line break is encoded as NUL and a letter. Names cannot contain NUL.
 */
const lineBreaks = ['\n', '\r', '\u2028', '\u2029']
const lineBreakLetters = 'nrls'

function encodeSegment(name: string): string {
  return encodeURIComponent(
    name.replace(/[\n\r\u2028\u2029]/g, lineBreak => `\0${lineBreakLetters[lineBreaks.indexOf(lineBreak)]}`),
  )
}

function decodeSegment(segment: string): string {
  const parts = decodeURIComponent(segment).split('\0')
  return parts
    .map((part, index) =>
      index > 0 ? (lineBreaks[lineBreakLetters.indexOf(part.charAt(0))] ?? '') + part.slice(1) : part,
    )
    .join('')
}

/** Returns the address of a folder's page. */
export function folderHref(providerId: string, path: string): string {
  const rest = path === '/' ? '' : path.split('/').map(encodeSegment).join('/')
  return `/files/${encodeURIComponent(providerId)}${rest}`
}

/** Returns the address of a folder, or of the preview of a file above its folder. */
export function entryHref(
  providerId: string,
  { __typename, path }: { __typename: 'File' | 'Folder'; path: string },
): string {
  if (__typename === 'Folder') return folderHref(providerId, path)
  return `${folderHref(providerId, parentPath(path))}?file=${encodeURIComponent(nameOfPath(path))}`
}

/** Returns the address of the page that says what takes up space in a folder. */
export function insightHref({ providerId, path }: StorageLocation): string {
  return folderHref(providerId, path).replace('/files/', '/insight/')
}

/** Returns the address of the page of a storage's trash. */
export function trashHref(providerId: string): string {
  return `/trash/${encodeURIComponent(providerId)}`
}

/** Returns null if the address contains no path or a malformed one. */
export function pathOfHref(pathname: string): string | null {
  const segments = pathname.split('/').slice(3).filter(Boolean)
  if (segments.length === 0) return null
  try {
    return `/${segments.map(decodeSegment).join('/')}`
  } catch {
    return null
  }
}
