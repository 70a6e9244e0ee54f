/** Encodes a path for a URL. */
export function encodeSegments(names: readonly string[]): string {
  return names.map(encodeURIComponent).join('/')
}

/** Returns the decoded path of a URL or of an absolute path, without a `/` at its end; null if it cannot be decoded. */
export function decodeHref(href: string): string | null {
  const [path = ''] = href.replace(/^https?:\/\/[^/]*/i, '').split(/[?#]/, 1)
  try {
    return decodeURIComponent(path).replace(/\/$/, '')
  } catch {
    return null
  }
}

/**
 * Returns the names of the entries in a folder, by the addresses in its listing; null for the folder itself and for what
 * cannot be an entry.
 * @param folder the decoded path of the folder
 */
export function namesIn(hrefs: readonly string[], folder: string): (string | null)[] {
  const paths = hrefs.map(decodeHref)
  const own = folder.replace(/\/$/, '')
  // Behind some proxies, all addresses have another beginning. That of the folder is the shortest then.
  const shortest = Math.min(...paths.map(path => path?.length ?? Number.POSITIVE_INFINITY))
  const isKnown = paths.includes(own)
  return paths.map(path => {
    if (path === null || (isKnown ? path === own : path.length === shortest)) return null
    const name = path.slice(path.lastIndexOf('/') + 1)
    return ['', '.', '..'].includes(name) ? null : name
  })
}
