/**
 * Returns the URL of a request without the base path, so that a proxy may remove it or not.
 * @param basePath "/stowage"; empty if there is none
 */
export function withoutBasePath(url: string, basePath: string): string {
  if (basePath === '' || !url.startsWith(basePath)) return url
  const rest = url.slice(basePath.length)
  if (rest.startsWith('/')) return rest
  return rest === '' || rest.startsWith('?') ? `/${rest}` : url
}
