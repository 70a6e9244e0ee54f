/** PROPFIND: RFC 4918, section 9.1. Folders are read and sent page by page. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { needs } from '../../auth/needs.ts'
import { formatPath } from '../../auth/path.ts'
import { requireScope } from '../../auth/policy.ts'
import type { Serve } from '../../http/admission.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { parseAddress } from './address.ts'
import {
  authorizeRequest,
  bodyOf,
  type DavOptions,
  type DavRequest,
  hrefOf,
  locateRequest,
  pathnameOf,
} from './dav-request.ts'
import { davError } from './errors.ts'
import { parseDepth } from './headers.ts'
import { parsePropfind, type WantedProperties } from './propfind-body.ts'
import { entryResponses, virtualResponses } from './propfind-responses.ts'
import { sendMultistatus } from './send-multistatus.ts'
import { listStorages, type VirtualFolder } from './virtual-folders.ts'

/** Authorizes a request before its body is read. */
export async function openPropfind(request: FastifyRequest, reply: FastifyReply, options: DavOptions): Promise<Serve> {
  const viewer = requireScope(request.viewer, 'read')
  const depth = parseDepth(request.headers, ['0', '1', 'infinity'], 'infinity')
  if (depth === 'infinity') {
    throw davError(403, 'INVALID_INPUT', 'Send "Depth: 0" or "Depth: 1", and ask for each folder by itself.', {
      precondition: '<D:propfind-finite-depth/>',
    })
  }
  const withMembers = depth === '1'
  const wanted = () => parsePropfind(bodyOf(request))
  if (parseAddress(pathnameOf(request)).slug === null) {
    return async () => sendVirtual(request, reply, await listStorages(viewer, options), await wanted(), withMembers)
  }
  const dav = await locateRequest(request, reply, options, needs.read)
  const { target } = dav
  const way = options.services.files.wayDown(viewer, target)
  if (way) {
    const hrefAt = (path: string) => hrefOf(options, { slug: target.slug, path }, true)
    const folders = way.map(entry => ({ ...entry, href: hrefAt(formatPath(entry.path)) }))
    return async () => sendVirtual(request, reply, folders, await wanted(), withMembers)
  }
  authorizeRequest(dav, needs.read)
  return async () => sendEntries(dav, await wanted(), withMembers)
}

/** @param folders the folder, then those in it */
async function sendVirtual(
  request: FastifyRequest,
  reply: FastifyReply,
  folders: readonly VirtualFolder[],
  wanted: WantedProperties,
  withMembers: boolean,
): Promise<void> {
  const viewer = requireScope(request.viewer, 'read')
  const shown = withMembers ? folders : folders.slice(0, 1)
  await sendMultistatus(reply, requestSignal(request), virtualResponses(shown, viewer, wanted))
}

async function sendEntries(dav: DavRequest, wanted: WantedProperties, withMembers: boolean): Promise<void> {
  const { viewer, target, options, reply } = dav
  await options.services.files.withChildren(viewer, target, dav.signal, (entry, pages, signal) =>
    sendMultistatus(reply, signal, entryResponses(dav, entry, withMembers ? pages : null, wanted)),
  )
}
