/** The methods that read, store, delete, copy and move entries: GET, HEAD, PUT, MKCOL, DELETE, COPY and MOVE. */
import { AppError } from '../../errors.ts'
import { continueOnRead } from '../../http/connection/body-bounds.ts'
import {
  fileBody,
  parseUploadConditions,
  requirePlainBody,
  settleConditional,
} from '../../http/content/body-headers.ts'
import { formatTag, wholeSeconds } from '../../http/content/conditions.ts'
import { asStored, openFor, serveDownload } from '../../http/content/serve-download.ts'
import type { FileEntry, UseDownload } from '../../services/files/index.ts'
import { davError, withStatus } from './errors.ts'
import { formatOcChecksum, parseDepth, parseOcChecksum, parseOcMtime, parseOverwrite } from './headers.ts'
import { entryOrNull, requireParent, requirePreconditions } from './preconditions.ts'
import { bodyOf, type DavRequest, hrefOf } from './request.ts'

const folderText = 'This is a folder. Open its address in a WebDAV client.\n'

/** GET and HEAD: RFC 4918, section 9.4. */
export async function get({ request, reply, viewer, target, options, signal }: DavRequest): Promise<void> {
  const { services, sendfile } = options
  const open = openFor(request, sendfile)
  await serveDownload(request, reply, {
    withDownload: <T>(use: UseDownload<T>) => services.files.download(viewer, target, signal, open, use),
    present: ({ entry }) => asStored(entry, false, formatOcChecksum(entry.checksums)),
    async sendFolder() {
      reply.type('text/plain; charset=utf-8').send(request.method === 'HEAD' ? '' : folderText)
      return null
    },
    sendfile,
  })
}

/** PUT: RFC 4918, section 9.7. */
export async function put(dav: DavRequest): Promise<void> {
  const { request, reply, viewer, target, options, signal } = dav
  const { headers, raw } = request
  requirePlainBody(headers)
  continueOnRead(raw, reply)
  const modifiedAt = parseOcMtime(headers)
  const { conflict, condition, isConditional } = parseUploadConditions(headers, undefined)
  const file = fileBody(request)
  const digests = { ...file.digests, ...parseOcChecksum(headers) }
  // Most files are new, so the parent is looked up at the same time.
  const [existing, parentFailure] = await Promise.all([
    entryOrNull(dav, target),
    requireParent(dav, target).then(
      () => null,
      (error: unknown) => ({ error }),
    ),
  ])
  if (existing?.kind === 'directory') throw davError(405, 'NOT_A_FILE', 'This is a folder: a file cannot replace it.')
  await requirePreconditions(dav, [{ location: target, isTree: false, isMember: !existing }])
  if (!existing && parentFailure) throw parentFailure.error
  const input = { ...target, ...file, conflict: isConditional ? conflict : ('REPLACE' as const), condition }
  const storing = options.services.files.upload(viewer, { ...input, modifiedAt, digests }, signal)
  const stored = await settleConditional(storing, isConditional)
  reply
    .status(existing ? 204 : 201)
    .headers({
      ...(stored.etag !== null && { ETag: formatTag(stored.etag), 'OC-ETag': formatTag(stored.etag) }),
      ...formatOcChecksum(stored.checksums),
      ...(modifiedAt && keeps(stored, modifiedAt) && { 'X-OC-MTime': 'accepted' }),
    })
    .send()
}

/** Returns whether the file has the time, to the second. */
function keeps({ modifiedAt }: FileEntry, wanted: Date): boolean {
  return modifiedAt !== null && wholeSeconds(modifiedAt) === wholeSeconds(wanted)
}

/** MKCOL: RFC 4918, section 9.3. */
export async function mkcol(dav: DavRequest): Promise<void> {
  const { request, reply, viewer, target, options, signal } = dav
  if (bodyOf(request).length > 0) {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'MKCOL takes no body: RFC 4918, section 9.3.')
  }
  await requirePreconditions(dav, [{ location: target, isTree: false, isMember: true }])
  await requireParent(dav, target)
  if (await entryOrNull(dav, target)) throw davError(405, 'ALREADY_EXISTS')
  await options.services.files
    .createFolder(viewer, target, signal)
    .catch(withStatus({ ALREADY_EXISTS: 405, NOT_FOUND: 409 }))
  reply.status(201).send()
}

/**
 * DELETE: RFC 4918, section 9.6. Folders are deleted with everything in them. Entries go to the trash, unless the client asks
 * otherwise as clients of Nextcloud do.
 */
export async function deleteEntry(dav: DavRequest): Promise<void> {
  const { request, reply, viewer, target, options, signal } = dav
  const recursive = parseDepth(request.headers, ['infinity', '0'], 'infinity') === 'infinity'
  await requirePreconditions(dav, [{ location: target, isTree: true, isMember: true }])
  const permanent = request.headers['x-nc-skip-trashbin'] === 'true'
  await options.services.files.delete(viewer, target, { recursive, permanent }, signal)
  reply.status(204).send()
}

/** COPY: RFC 4918, section 9.8. */
export async function copy(dav: DavRequest): Promise<void> {
  const isShallow = parseDepth(dav.request.headers, ['infinity', '0'], 'infinity') === '0'
  const { files } = dav.options.services
  await transfer(dav, input => files.copy(dav.viewer, { ...input, isShallow }, dav.signal))
}

/** MOVE: RFC 4918, section 9.9. */
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
