import type { IncomingMessage } from 'node:http'

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

/** The address of a request as its client sees it. */
export interface CanonicalAddress {
  /** With the port, if the client sends one. */
  host: string
  /** The path and the query. */
  url: string
}

const origin = /^https?:\/\/([^/?#]*)/i

/**
 * Returns the address that the client of a request used. X-Forwarded-Host counts only from a trusted proxy; of several values, it is
 * the last, which that proxy added. A URL with an origin overrides the Host header: RFC 9112, section 3.2.2.
 */
export function addressOf({ url = '/', headers }: IncomingMessage, isFromProxy: boolean): CanonicalAddress {
  const [prefix = '', authority] = origin.exec(url) ?? []
  const forwarded = isFromProxy ? headers['x-forwarded-host'] : undefined
  const host = forwarded?.toString().split(',').at(-1)?.trim() || (authority ?? headers.host ?? '')
  if (authority === undefined) return { host, url }
  const rest = url.slice(prefix.length)
  return { host, url: rest.startsWith('/') ? rest : `/${rest}` }
}
