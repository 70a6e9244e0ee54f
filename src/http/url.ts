/** Returns the path and the query of a URL without its origin. */
export function splitUrl(url: string): [path: string, query: string] {
  const start = url.indexOf('?')
  return start < 0 ? [url, ''] : [url.slice(0, start), url.slice(start + 1)]
}

/** Returns the value of the first key that is the path of the URL or one of its parent paths. */
export function findBelow<T>(byPath: ReadonlyMap<string, T>, url: string): T | undefined {
  const [path] = splitUrl(url)
  for (const [top, value] of byPath) {
    if (path === top || path.startsWith(`${top}/`)) return value
  }
  return undefined
}
