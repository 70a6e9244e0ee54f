/** The revisions of files (developers.google.com/workspace/drive/api/reference/rest/v3/revisions). */
import { sendJson } from '../cloud/http.ts'
import { sendMedia } from './download.ts'
import { ApiError, invalidValue } from './errors.ts'
import type { Files } from './files.ts'
import type { Exchange } from './http.ts'
import type { Revision, Store } from './store.ts'

/** Serves `/drive/v3/files/<id>/revisions` and what is below. */
export async function onRevisions(
  exchange: Exchange,
  { files, store }: { files: Files; store: Store },
  [fileId, revisionId]: readonly [string, string | undefined],
): Promise<void> {
  const { method, query, response } = exchange
  const item = files.find(exchange, fileId)
  const all = item.content ? (store.revisions.get(item.id) ?? []) : []
  if (revisionId === undefined) {
    if (method !== 'GET') throw new ApiError(404, 'notFound', 'Not Found')
    const size = Number(query.get('pageSize') ?? 200)
    if (!(size >= 1 && size <= 1000)) throw invalidValue('pageSize')
    const start = Number(query.get('pageToken') ?? 0)
    const next = start + size < all.length ? { nextPageToken: String(start + size) } : {}
    return sendJson(response, { revisions: all.slice(start, start + size).map(resourceOf), ...next })
  }
  const revision = all.find(({ id }) => id === revisionId)
  if (!revision) throw new ApiError(404, 'notFound', `Revision not found: ${revisionId}.`)
  if (method === 'DELETE') {
    store.checkWritable(exchange.account, item)
    if (all.length === 1) throw new ApiError(400, 'cannotDeleteOnlyRevision', 'Cannot delete the only revision.')
    store.revisions.set(
      item.id,
      all.filter(each => each !== revision),
    )
    response.writeHead(204).end()
    return
  }
  if (query.get('alt') !== 'media') return sendJson(response, resourceOf(revision))
  await sendMedia(exchange, { ...item, content: revision.content, mimeType: revision.mimeType }, undefined, false)
}

function resourceOf({ id, content, mimeType, modifiedTime }: Revision) {
  return {
    kind: 'drive#revision',
    id,
    mimeType,
    modifiedTime: new Date(modifiedTime).toISOString(),
    size: String(content.size),
    md5Checksum: content.md5,
    keepForever: false,
  }
}
