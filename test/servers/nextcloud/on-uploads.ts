/** Requests to the uploads of the user. */
import { type DavRequest, hashHeaders, hrefOf, sendEmpty } from './dav-request.ts'
import { refused } from './errors.ts'
import { type Files, sizeOf } from './files.ts'
import { folderResource, type Resource, sendProperties } from './multistatus.ts'
import { checkedDestination } from './on-files.ts'
import type { Uploads } from './uploads.ts'

export async function onUploads(files: Files, uploads: Uploads, request: DavRequest): Promise<void> {
  const { method, headers, address, body, destination, response } = request
  const [name, chunk, ...more] = address.names
  if (method === 'PROPFIND') return sendProperties(response, resourcesOf(uploads, request), body)
  if (method === 'GET') throw refused('MethodNotAllowed', 'Reading intermediate uploads is not allowed')
  if (name === undefined || more.length > 0) throw refused('Forbidden', 'Permission denied')
  if (method === 'MKCOL' && chunk === undefined) {
    uploads.make(name, destination)
    return sendEmpty(request, true)
  }
  if (method === 'PUT' && chunk !== undefined) {
    const { isNew } = uploads.put(name, chunk, body, { headers, destination })
    const isFile = uploads.get(name).session === undefined
    return sendEmpty(request, isNew, isFile ? hashHeaders(request, files.isOwnCloud) : {})
  }
  if (method === 'MOVE' && chunk === '.file') {
    const { to } = checkedDestination(files, request)
    return sendEmpty(request, (await uploads.assemble(name, to, headers)).isNew)
  }
  if (method === 'DELETE' && chunk === undefined) {
    uploads.remove(name)
    return sendEmpty(request, false)
  }
  throw refused('Forbidden', 'Permission denied')
}

function resourcesOf(uploads: Uploads, { address, headers }: DavRequest): Resource[] {
  const [name, chunk] = address.names
  const own = hrefOf(address)
  if (name === undefined) return [folderResource(own)]
  const { chunks, session } = uploads.get(name)
  if (chunk !== undefined) throw refused('NotFound', `File with name ${chunk} could not be located`)
  const stored = session ? [...session.parts].map(([number, part]) => [String(number), part] as const) : [...chunks]
  const below = stored.map(([each, content]) => ({
    href: `${own}/${each}`,
    properties: { 'd:resourcetype': '', 'd:getcontentlength': String(sizeOf(content)) },
  }))
  return [folderResource(own), ...(headers.depth === '0' ? [] : below)]
}
