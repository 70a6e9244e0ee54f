/** The report about the changes of a folder and everything below it: RFC 6578, and `Sync/Plugin.php` of sabre/dav. */
import { pathOf } from '../cloud/tree.ts'
import { type DavRequest, hrefOf } from './dav-request.ts'
import { DavError, escapeXml, refused } from './errors.ts'
import type { Files } from './files.ts'
import { tokenOf } from './multistatus.ts'

export function sendChanges(files: Files, { address, body, response }: DavRequest): void {
  if (!files.hasSync) throw refused('Forbidden', 'The {DAV:}sync-collection REPORT is not supported on this url.')
  const text = Buffer.concat(body).toString()
  if (!text.includes('sync-level>infinite<'))
    throw refused('BadRequest', 'This report is about everything below a folder')
  const since = Number(/sync-token>[^<]*\/(\d+)</.exec(text)?.[1] ?? Number.NaN)
  if (Number.isNaN(since) || since < files.firstToken) {
    throw new DavError(403, 'Sabre\\DAV\\Exception\\InvalidSyncToken', 'Invalid or unknown sync token')
  }
  const limit = Number(/nresults>(\d+)</.exec(text)?.[1] ?? 1000)
  const top = files.get(address.names)
  const own = pathOf(top)
  const { tree } = files
  const removed = tree.removed
    .filter(({ at, path }) => at > since && path.startsWith(`${own}/`))
    .map(({ at, path }) => ({ at, path, isGone: tree.find(path) === undefined }))
  const changed = [...tree.all(top)]
    .filter(node => node !== top && node.version > since)
    .map(node => ({ at: node.version, path: pathOf(node), isGone: false }))
  const all = [...removed, ...changed].sort((a, b) => a.at - b.at)
  const rest = all[limit]
  const shown = rest ? all.filter(({ at }) => at < rest.at || at === all[0]?.at) : all
  const href = (path: string) => escapeXml(hrefOf({ ...address, names: path.split('/').filter(name => name !== '') }))
  const responses = shown.map(({ path, isGone }) => {
    const is = isGone
      ? '<d:status>HTTP/1.1 404 Not Found</d:status>'
      : '<d:propstat><d:prop><d:getetag>"x"</d:getetag></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat>'
    return `<d:response><d:href>${href(path)}</d:href>${is}</d:response>`
  })
  const more = rest
    ? `<d:response><d:href>${href(own)}</d:href><d:status>HTTP/1.1 507 Insufficient Storage</d:status></d:response>`
    : ''
  const seen = rest ? (shown.at(-1)?.at ?? since) : tree.changes
  response.writeHead(207, { 'content-type': 'application/xml; charset=utf-8' })
  response.end(
    `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">${responses.join('')}${more}<d:sync-token>${tokenOf(seen)}</d:sync-token></d:multistatus>`,
  )
}
