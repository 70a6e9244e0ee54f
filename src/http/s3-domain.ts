/** The path of the S3 endpoint. Requests to the S3 domain are rewritten to it. */
export const s3Path = '/s3'

/** Returns the URL of the S3 endpoint for clients that reach the server at `baseUrl`. */
export function s3EndpointOf(baseUrl: string, domain: string | null): string {
  if (domain === null) return `${baseUrl}${s3Path}`
  const url = new URL(baseUrl)
  url.hostname = domain
  return url.origin
}

/**
 * Returns the URL of a request to the S3 domain, or to the host name of a bucket below it, in path style; null for any other
 * host.
 * @param host the Host header
 * @param domain in lowercase; null if there is none
 */
export function inPathStyle(url: string, host: string | undefined, domain: string | null): string | null {
  if (domain === null || host === undefined) return null
  const name = host.toLowerCase().replace(/:\d{1,5}$/, '')
  if (name === domain) return `${s3Path}${url}`
  return name.endsWith(`.${domain}`) ? `${s3Path}/${encodeURIComponent(name.slice(0, -domain.length - 1))}${url}` : null
}
