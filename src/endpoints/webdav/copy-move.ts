/** COPY and MOVE: RFC 4918, sections 9.8 and 9.9. */
import type { FileEntry } from '../../services/files/index.ts'
import { type DavRequest, hrefOf } from './dav-request.ts'
import { davError, withStatus } from './errors.ts'
import { parseDepth, parseOverwrite } from './headers.ts'
import { entryOrNull, requireParent } from './parent.ts'
import { requirePreconditions } from './preconditions.ts'

export async function copy(dav: DavRequest): Promise<void> {
  const isShallow = parseDepth(dav.request.headers, ['infinity', '0'], 'infinity') === '0'
  const { files } = dav.options.services
  await transfer(dav, input => files.copy(dav.viewer, { ...input, isShallow }, dav.signal))
}

export async function move(dav: DavRequest): Promise<void> {
  parseDepth(dav.request.headers, ['infinity'], 'infinity')
  const { files } = dav.options.services
  await transfer(dav, input => files.move(dav.viewer, input, dav.signal))
}

interface DavTransfer {
  providerId: string
  path: string
  toProviderId: string
  toPath: string
  conflict: 'REPLACE' | 'FAIL'
  replacesTree: boolean
}

async function transfer(dav: DavRequest, work: (input: DavTransfer) => Promise<FileEntry>): Promise<void> {
  const { request, reply, target, destination, options } = dav
  const mayReplace = parseOverwrite(request.headers)
  if (destination.providerId === target.providerId && destination.path === target.path) {
    throw davError(403, 'INTO_ITSELF', 'Source and destination are the same.')
  }
  const existing = await entryOrNull(dav, destination)
  await requirePreconditions(dav, [
    ...(request.method === 'MOVE' ? [{ location: target, isTree: true, isMember: true }] : []),
    { location: destination, isTree: existing?.kind === 'directory', isMember: !existing },
  ])
  if (existing && !mayReplace) throw davError(412, 'ALREADY_EXISTS', `"${destination.path}" exists already.`)
  if (!existing) await requireParent(dav, destination)
  const { kind } = await work({
    providerId: target.providerId,
    path: target.path,
    toProviderId: destination.providerId,
    toPath: destination.path,
    conflict: mayReplace ? 'REPLACE' : 'FAIL',
    replacesTree: mayReplace,
  }).catch(withStatus({ ALREADY_EXISTS: 412 }))
  if (!existing) reply.header('Location', hrefOf(options, destination, kind === 'directory'))
  reply.status(existing ? 204 : 201).send()
}
