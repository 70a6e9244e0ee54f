/** MKCOL: RFC 4918, section 9.3. */
import { AppError } from '../../errors.ts'
import { bodyOf, type DavRequest } from './dav-request.ts'
import { davError, withStatus } from './errors.ts'
import { entryOrNull, requireParent } from './parent.ts'
import { requirePreconditions } from './preconditions.ts'

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
