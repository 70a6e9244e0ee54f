/** A request below `/dav`, parsed as far as all methods need it. */
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
import { type DavAddress, formatAddress, parseAddress, parseReference, plainHost } from './address.ts'
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

/** Returns the body of a request that was parsed as XML; empty if it has none. */
export function bodyOf({ body }: Pick<FastifyRequest, 'body'>): Buffer {
  return body instanceof Buffer ? body : Buffer.alloc(0)
}

export function pathnameOf({ url }: Pick<FastifyRequest, 'url'>): string {
  return splitUrl(url)[0]
}

async function targetOf({ services }: DavOptions, viewer: Viewer, { slug, path }: DavAddress): Promise<DavTarget> {
  return { slug: slug ?? '', path, providerId: await services.providers.idOf(viewer, slug ?? '') }
}

/** Returns the target of a URL in the If header. @throws INVALID_INPUT, INVALID_PATH */
export function referencedTarget({ request, options, viewer }: DavRequest, text: string): Promise<DavTarget> {
  return targetOf(options, viewer, parseReference(text, options.basePath, hostsOf(request, options)))
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

function hostsOf({ host, headers }: FastifyRequest, { publicUrl }: DavOptions): ReadonlySet<string> {
  const known = [host, headers.host, publicUrl === null ? undefined : new URL(publicUrl).host]
  return new Set(known.flatMap(each => (each === undefined ? [] : plainHost(each))))
}

export function hrefOf({ basePath }: DavOptions, target: { slug: string; path: string }, isFolder: boolean): string {
  return formatAddress(basePath, target, isFolder)
}
