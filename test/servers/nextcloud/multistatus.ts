/** PROPFIND: RFC 4918, section 9.1, with the properties of Nextcloud's manual ("Basic APIs"). */
import type { ServerResponse } from 'node:http'
import { SaxesParser } from 'saxes'
import type { Node } from '../cloud/tree.ts'
import { escapeXml, refused } from './errors.ts'
import type { Content, Files } from './files.ts'

const prefixes: Record<string, string> = { 'DAV:': 'd', 'http://owncloud.org/ns': 'oc' }

/** An entry in a response, with the XML of its properties by their prefixed names. */
export interface Resource {
  href: string
  properties: Record<string, string | undefined>
}

const httpDate = (time: number) => new Date(Math.floor(time / 1000) * 1000).toUTCString()

export function fileResource(files: Files, href: string, node: Node): Resource {
  const checksums = files.checksumsOf(node)
  const common = {
    'd:getlastmodified': httpDate(node.modified),
    'd:getetag': `&quot;${files.etagOf(node)}&quot;`,
    'oc:fileid': node.id,
  }
  if (node.children) {
    const used = files.tree.usage()
    const available = Number.isFinite(files.quota) ? String(files.free) : '-3'
    return folderResource(href, {
      ...common,
      'd:quota-used-bytes': String(used),
      'd:quota-available-bytes': available,
      'd:sync-token': files.hasSync ? tokenOf(files.tree.changes) : undefined,
    })
  }
  return {
    href,
    properties: {
      ...common,
      'd:resourcetype': '',
      'd:getcontentlength': String(node.size),
      'd:getcontenttype': 'application/octet-stream',
      'oc:checksums': checksums && `<oc:checksum>${checksums}</oc:checksum>`,
    },
  }
}

export const tokenOf = (changes: number) => `http://sabre.io/ns/sync/${changes}`

export function folderResource(href: string, properties: Resource['properties'] = {}): Resource {
  return { href: `${href.replace(/\/$/, '')}/`, properties: { ...properties, 'd:resourcetype': '<d:collection/>' } }
}

/** @param body that of the request @throws BadRequest */
export function sendProperties(response: ServerResponse, resources: readonly Resource[], body: Content): void {
  const requested = requestedProperties(Buffer.concat(body).toString())
  response.writeHead(207, { 'content-type': 'application/xml; charset=utf-8' })
  response.end(multistatus(resources, requested))
}

/** Returns the prefixed names of the properties in a request; undefined for all. */
function requestedProperties(body: string): string[] | undefined {
  if (body === '') return undefined
  const names: string[] = []
  let depth = 0
  const parser = new SaxesParser({ xmlns: true })
  parser.on('error', error => {
    throw refused('BadRequest', error.message)
  })
  parser.on('opentag', ({ uri, local }) => {
    depth += 1
    if (depth === 3) names.push(`${prefixes[uri] ?? 'x'}:${local}`)
  })
  parser.on('closetag', () => {
    depth -= 1
  })
  parser.write(body).close()
  return names
}

function multistatus(resources: readonly Resource[], requested: readonly string[] | undefined): string {
  const namespaces = 'xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns" xmlns:oc="http://owncloud.org/ns"'
  const responses = resources.map(({ href, properties }) => {
    const asked = requested ?? Object.keys(properties)
    const found = asked.filter(name => properties[name] !== undefined)
    const missing = asked.filter(name => properties[name] === undefined && !name.startsWith('x:'))
    const values = found.map(name => `<${name}>${properties[name]}</${name}>`).join('')
    const none = missing.map(name => `<${name}/>`).join('')
    const unknown = none === '' ? '' : propstat(none, 'HTTP/1.1 404 Not Found')
    return `<d:response><d:href>${escapeXml(href)}</d:href>${propstat(values, 'HTTP/1.1 200 OK')}${unknown}</d:response>`
  })
  return `<?xml version="1.0"?>\n<d:multistatus ${namespaces}>${responses.join('')}</d:multistatus>`
}

const propstat = (properties: string, status: string) =>
  `<d:propstat><d:prop>${properties}</d:prop><d:status>${status}</d:status></d:propstat>`
