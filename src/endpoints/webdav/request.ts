/**
 * A request below `/dav`, parsed as far as all methods need it: its address, which has the slug of a provider and the path of
 * an entry, and its viewer.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { authorize, needs } from '../../auth/needs.ts'
import { requireScope } from '../../auth/policy.ts'
import { requireViewer, type Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { splitUrl } from '../../http/url.ts'
import type { LocationInput } from '../../services/files/index.ts'
import type { Services } from '../../services/index.ts'
import { noProvider } from '../../services/providers/index.ts'
import type { Sendfile } from '../../settings/index.ts'
import { davError } from './errors.ts'
import { headerText } from './headers.ts'

export interface DavOptions {
  services: Services
  basePath: string
  publicUrl: string | null
  sendfile: Sendfile | null
}

/** The entry that a URL names. */
export interface DavTarget extends LocationInput {
  slug: string
}

export interface DavRequest {
  request: FastifyRequest
  reply: FastifyReply
  options: DavOptions
  viewer: Viewer
  target: DavTarget
  /** The target of the Destination header of COPY and MOVE; otherwise that of the URL. */
  destination: DavTarget
  signal: AbortSignal
}

export type DavNeeds =
  | typeof needs.read
  | typeof needs.create
  | typeof needs.delete
  | typeof needs.copy
  | typeof needs.move

/** Finds and authorizes the targets of a request. @throws as `locateRequest` and `authorizeRequest` */
export async function openRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  options: DavOptions,
  needed: DavNeeds,
): Promise<DavRequest> {
  const dav = await locateRequest(request, reply, options, needed)
  authorizeRequest(dav, needed)
  return dav
}

/**
 * Looks up nothing but the slugs. A refusal names the locations in the audit log.
 * @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, INVALID_PATH, INVALID_INPUT
 */
export async function locateRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  options: DavOptions,
  needed: DavNeeds,
): Promise<DavRequest> {
  const viewer = requireViewer(request.viewer)
  const address = parseAddress(pathnameOf(request))
  const scope = needed === needs.read ? 'read' : 'write'
  if (address.slug === null) {
    requireScope(viewer, scope)
    throw davError(405, 'METHOD_NOT_ALLOWED', 'This folder only lists the storages.')
  }
  const to = hasDestination(needed) ? parseDestination(request, options) : address
  const [target, destination] = await Promise.all([targetOf(options, viewer, address), targetOf(options, viewer, to)])
  request.named = { location: target, ...(hasDestination(needed) && { to: destination }) }
  requireScope(viewer, scope)
  return { request, reply, options, viewer, target, destination, signal: requestSignal(request) }
}

/** Authorizes a request before anything is looked up. @throws INVALID_PATH, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, NOT_FOUND */
export function authorizeRequest({ viewer, target, destination }: DavRequest, needed: DavNeeds): void {
  const ends = { ...target, toProviderId: destination.providerId, toPath: destination.path }
  authorize(viewer, needed as typeof needs.copy, ends)
  if (target.providerId === noProvider || destination.providerId === noProvider) {
    throw new AppError('NOT_FOUND', 'There is no storage with this name in its address.')
  }
}

async function targetOf({ services }: DavOptions, viewer: Viewer, { slug, path }: DavAddress): Promise<DavTarget> {
  return { slug: slug ?? '', path, providerId: await services.providers.idOf(viewer, slug ?? '') }
}

function hasDestination(needed: DavNeeds): boolean {
  return needed === needs.copy || needed === needs.move
}

/** @throws INVALID_INPUT, INVALID_PATH */
function parseDestination(request: FastifyRequest, options: DavOptions): DavAddress {
  const text = headerText(request.headers, 'destination')?.trim()
  if (!text) throw new AppError('INVALID_INPUT', 'The Destination header is missing.')
  return parseReference(text, options.basePath, hostsOf(request, options))
}

/** Returns the target of a URL in the If header. @throws INVALID_INPUT, INVALID_PATH */
export function referencedTarget({ request, options, viewer }: DavRequest, text: string): Promise<DavTarget> {
  return targetOf(options, viewer, parseReference(text, options.basePath, hostsOf(request, options)))
}

function hostsOf({ host, headers }: FastifyRequest, { publicUrl }: DavOptions): ReadonlySet<string> {
  const known = [host, headers.host, publicUrl === null ? undefined : new URL(publicUrl).host]
  return new Set(known.flatMap(each => (each === undefined ? [] : plainHost(each))))
}

/** Returns the body of a request that was parsed as XML; empty if it has none. */
export function bodyOf({ body }: Pick<FastifyRequest, 'body'>): Buffer {
  return body instanceof Buffer ? body : Buffer.alloc(0)
}

export function pathnameOf({ url }: Pick<FastifyRequest, 'url'>): string {
  return splitUrl(url)[0]
}

export const davPath = '/dav'

interface DavAddress {
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

/** Returns the slug in the URL of a request as it is written there, before `parseAddress` validates it. */
export function slugOf({ raw: { url = '' } }: FastifyRequest): string | null {
  return url.slice(davPath.length + 1).split(/[/?]/, 1)[0] ?? null
}

/**
 * Parses a URL from a header: absolute, or only its path.
 * @param hosts the hosts that this server has for its clients
 * @throws INVALID_INPUT; with the status 502, if it is of another server: RFC 4918, section 9.8.5
 */
function parseReference(text: string, basePath: string, hosts: ReadonlySet<string>): DavAddress {
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
function plainHost(host: string): string {
  return host.toLowerCase().replace(/:(?:80|443)$/, '')
}

/** Returns the address of an entry, or of all storages for an empty slug. Folders end with a slash. */
export function hrefOf(
  { basePath }: DavOptions,
  { slug, path }: { slug: string; path: string },
  isFolder: boolean,
): string {
  if (slug === '') return `${basePath}${davPath}/`
  const end = isFolder && path !== '/' ? '/' : ''
  return `${basePath}${davPath}/${slug}${path.split('/').map(encodeURIComponent).join('/')}${end}`
}
