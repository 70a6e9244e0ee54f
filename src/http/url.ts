/** Returns the path and the query of a URL without its origin. */
export function splitUrl(url: string): [path: string, query: string] {
  const start = url.indexOf('?')
  return start < 0 ? [url, ''] : [url.slice(0, start), url.slice(start + 1)]
}
