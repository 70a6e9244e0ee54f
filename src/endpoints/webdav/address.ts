/** Addresses below `/dav`: the slug of a provider and the path of an entry. */
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { davError } from './errors.ts'

export const davPath = '/dav'

export interface DavAddress {
  /** Null for `/dav/` itself. */
  slug: string | null
  /** Absolute within the provider, not parsed yet. */
  path: string
}

/**
 * Parses the path of a URL without the base path of the server. A slash at the end, which names a folder, is optional.
 * @throws INVALID_PATH
 */
export function parseAddress(pathname: string): DavAddress {
  const rest = pathname.slice(davPath.length + 1)
  const [slug = '', ...names] = rest.replace(/\/$/, '').split('/').map(decodeSegment)
  if (slug === '' && names.length === 0) return { slug: null, path: '/' }
  if (slug === '' || names.includes(''))
    throw new AppError('INVALID_PATH', 'A path cannot have an empty segment: remove "//".')
  return { slug, path: `/${names.join('/')}` }
}

/** Returns the slug in the URL of a request as it is written there, before `parseAddress` validates it. */
export function slugOf({ raw: { url = '' } }: FastifyRequest): string | null {
  return url.slice(davPath.length + 1).split(/[/?]/, 1)[0] ?? null
}

/** A decoded "/" would name another entry than the client meant. */
function decodeSegment(segment: string): string {
  let decoded: string
  try {
    decoded = decodeURIComponent(segment)
  } catch (cause) {
    throw new AppError('INVALID_PATH', 'The URL is malformed: its percent-encoding cannot be decoded.', { cause })
  }
  if (decoded.includes('/')) throw new AppError('INVALID_PATH', 'A name cannot contain "/".')
  return decoded
}

/** Formats the address of an entry, or of all storages for an empty slug. Folders end with a slash. */
export function formatAddress(
  basePath: string,
  { slug, path }: { slug: string; path: string },
  isFolder: boolean,
): string {
  if (slug === '') return `${basePath}${davPath}/`
  const end = isFolder && path !== '/' ? '/' : ''
  return `${basePath}${davPath}/${slug}${path.split('/').map(encodeURIComponent).join('/')}${end}`
}

/**
 * Parses a URL from a header: absolute, or only its path.
 * @param hosts the hosts that this server has for its clients
 * @throws INVALID_INPUT; with the status 502, if it is of another server: RFC 4918, section 9.8.5
 */
export function parseReference(text: string, basePath: string, hosts: ReadonlySet<string>): DavAddress {
  // git sends the user name and the password as well.
  const absolute = /^https?:\/\/(?:[^/?#@]*@)?([^/?#@]*)([^?#]*)/i.exec(text)
  const [, host = '', pathname = ''] = absolute ?? [null, '', text.split(/[?#]/, 1)[0]]
  if (absolute && !hosts.has(plainHost(host))) {
    const known = [...hosts].join(', ')
    const message = `The address is on another server. This one is ${known}; STOWAGE_PUBLIC_URL can name another host.`
    throw davError(502, 'INVALID_INPUT', message)
  }
  const own = basePath !== '' && pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : pathname
  if (own !== davPath && !own.startsWith(`${davPath}/`)) {
    throw davError(502, 'INVALID_INPUT', `The address must be below ${basePath}${davPath}/.`)
  }
  return parseAddress(own)
}

/** Returns a host in lower case, without the port that is the default of its scheme. */
export function plainHost(host: string): string {
  return host.toLowerCase().replace(/:(?:80|443)$/, '')
}
