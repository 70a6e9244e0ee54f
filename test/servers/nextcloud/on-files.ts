/** Requests to the files of the user. */
import type { ServerResponse } from 'node:http'
import { parseRange, sendChunks, slice } from '../cloud/http.ts'
import type { Node } from '../cloud/tree.ts'
import { type DavRequest, hashHeaders, hrefOf, sendEmpty } from './dav-request.ts'
import { refused } from './errors.ts'
import type { Files } from './files.ts'
import { fileResource, sendProperties } from './multistatus.ts'
import { sendChanges } from './sync.ts'

export async function onFiles(files: Files, request: DavRequest): Promise<void> {
  const { method, headers, body, response } = request
  const { names } = request.address
  switch (method) {
    case 'PROPFIND':
      return sendProperties(response, resourcesOf(files, request), body)
    case 'REPORT':
      return sendChanges(files, request)
    case 'GET':
      return await send(files, request, response, files.get(names))
    case 'PUT': {
      const { isNew } = files.write(names, body, headers)
      const etag = { etag: `"${files.etagOf(files.get(names))}"` }
      return sendEmpty(request, isNew, { ...etag, ...hashHeaders(request, files.isOwnCloud) })
    }
    case 'MKCOL':
      files.makeFolder(names)
      return sendEmpty(request, true)
    case 'DELETE':
      files.remove(names)
      return sendEmpty(request, false)
    case 'MOVE':
    case 'COPY': {
      const { to, isNew } = checkedDestination(files, request)
      refuseOverlap(names.join('/'), to.join('/'))
      files.transfer(method, names, to)
      return sendEmpty(request, isNew)
    }
    default:
      throw refused('MethodNotAllowed', method)
  }
}

function resourcesOf(files: Files, { address, headers }: DavRequest) {
  const node = files.get(address.names)
  const below = headers.depth === '0' ? [] : [...(node.children?.values() ?? [])]
  const hrefBelow = (name: string) => hrefOf({ ...address, names: [...address.names, name] })
  return [
    fileResource(files, hrefOf(address), node),
    ...below.map(each => fileResource(files, hrefBelow(each.name), each)),
  ]
}

async function send(files: Files, { headers }: DavRequest, response: ServerResponse, node: Node): Promise<void> {
  if (node.children) throw refused('MethodNotAllowed', 'This is a folder')
  const etag = `"${files.etagOf(node)}"`
  const match = headers['if-match']
  if (match !== undefined && match !== etag) throw refused('PreconditionFailed', 'An If-Match header was specified')
  const range = parseRange(headers.range, node.size)
  if (range === 'unsatisfiable') throw refused('RequestedRangeNotSatisfiable', 'The start offset exceeded the size')
  const { start, end } = range ?? { start: 0, end: node.size }
  response.writeHead(range ? 206 : 200, {
    etag,
    'last-modified': new Date(Math.floor(node.modified / 1000) * 1000).toUTCString(),
    'content-type': 'application/octet-stream',
    'content-length': String(end - start),
    ...(range && { 'content-range': `bytes ${start}-${end - 1}/${node.size}` }),
  })
  await sendChunks(response, slice(node.chunks, start, end), undefined)
}

/** Checks the headers of a MOVE or COPY as `getCopyAndMoveInfo` of sabre/dav (lib/DAV/Server.php) does. */
export function checkedDestination(
  files: Files,
  { headers, destination: to }: DavRequest,
): { to: readonly string[]; isNew: boolean } {
  if (!to) throw refused('BadRequest', 'The destination header was not supplied')
  const parent = files.find(to.slice(0, -1))
  if (!parent) throw refused('Conflict', 'The destination node is not found')
  if (!parent.children) throw refused('UnsupportedMediaType', 'The destination node is not a collection')
  const isNew = files.find(to) === undefined
  if (isNew || headers.overwrite !== 'F') return { to, isNew }
  throw refused('PreconditionFailed', 'The destination node already exists, and the overwrite header is set to false')
}

function refuseOverlap(from: string, to: string): void {
  if (to === from) throw refused('Forbidden', 'Source and destination uri are identical.')
  if (!to.startsWith(`${from}/`)) return
  throw refused('Conflict', 'The destination may not be part of the same subtree as the source path.')
}
