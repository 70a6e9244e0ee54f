/** The versions of files (learn.microsoft.com/graph/api/resources/driveitemversion). */
import type { ServerResponse } from 'node:http'
import { sendJson } from '../cloud/http.ts'
import type { Node } from '../cloud/tree.ts'
import type { Drive } from './drive.ts'
import { GraphError, invalid, notFound } from './errors.ts'

/** Versions of one response. */
const pageSize = 2

/**
 * Serves `/items/<id>/versions` and what is below.
 * @param downloadUrl returns the address of an earlier content
 */
export async function onVersions(
  { drive, node, query, response }: { drive: Drive; node: Node; query: URLSearchParams; response: ServerResponse },
  {
    method,
    rest,
    url,
    downloadUrl,
  }: { method: string; rest: string; url: string; downloadUrl: (node: Node) => string },
): Promise<void> {
  if (node.children) throw invalid()
  const all = [node, ...drive.versionsOf(node).toReversed()]
  const resourceOf = (each: Node) => ({
    id: drive.versionIdOf(each),
    lastModifiedDateTime: new Date(each.modified).toISOString(),
    size: each.size,
  })
  const [, encoded, action] = /^\/([^/]+)(?:\/(content|restoreVersion))?$/.exec(rest) ?? []
  if (encoded === undefined) {
    const start = Number(query.get('$skiptoken') ?? 0)
    const link = new URL(url)
    link.searchParams.set('$skiptoken', String(start + pageSize))
    const next = start + pageSize < all.length ? { '@odata.nextLink': link.href } : {}
    return sendJson(response, { value: all.slice(start, start + pageSize).map(resourceOf), ...next })
  }
  const found = all.find(each => drive.versionIdOf(each) === decodeURIComponent(encoded))
  if (!found) throw notFound()
  if (action === undefined) return sendJson(response, resourceOf(found))
  if (action === 'content' && method === 'GET') {
    if (found === node) throw new GraphError(400, 'invalidRequest')
    response.writeHead(302, { location: downloadUrl(found) }).end()
    return
  }
  if (action !== 'restoreVersion' || method !== 'POST' || !node.parent) throw invalid()
  drive.store(node.parent, node.name, found.chunks, { behavior: 'replace', modified: found.modified })
  response.writeHead(204).end()
}
