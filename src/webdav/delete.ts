/** DELETE: RFC 4918, section 9.6. Folders are deleted with everything in them. */
import type { DavRequest } from './dav-request.ts'
import { parseDepth } from './headers.ts'
import { requirePreconditions } from './preconditions.ts'

export async function deleteEntry(dav: DavRequest): Promise<void> {
  const { request, reply, viewer, target, options, signal } = dav
  const recursive = parseDepth(request.headers, ['infinity', '0'], 'infinity') === 'infinity'
  await requirePreconditions(dav, [{ location: target, isTree: true, isMember: true }])
  await options.services.files.delete(viewer, target, { recursive }, signal)
  reply.status(204).send()
}
