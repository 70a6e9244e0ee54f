/**
 * DELETE: RFC 4918, section 9.6. Folders are deleted with everything in them. Entries go to the trash, unless the client asks
 * otherwise as clients of Nextcloud do.
 */
import type { DavRequest } from './dav-request.ts'
import { parseDepth } from './headers.ts'
import { requirePreconditions } from './preconditions.ts'

export async function deleteEntry(dav: DavRequest): Promise<void> {
  const { request, reply, viewer, target, options, signal } = dav
  const recursive = parseDepth(request.headers, ['infinity', '0'], 'infinity') === 'infinity'
  await requirePreconditions(dav, [{ location: target, isTree: true, isMember: true }])
  const permanent = request.headers['x-nc-skip-trashbin'] === 'true'
  await options.services.files.delete(viewer, target, { recursive, permanent }, signal)
  reply.status(204).send()
}
