/** Sends WebDAV requests and reads their XML. */
import { elementsOf, parseXml, textOf, type XmlElement } from '../../src/http/xml.ts'
import type { TestApp } from '../support/app.ts'

export interface DavAnswer {
  status: number
  headers: Headers
  text: string
  /** The reason of an error. */
  reason: string | undefined
}

interface DavCall {
  headers?: Record<string, string>
  body?: NonNullable<RequestInit['body']>
}

export type Dav = (method: string, path: string, call?: DavCall) => Promise<DavAnswer>

/** @param path below `/dav` */
export function davClient({ url }: Pick<TestApp, 'url'>, key: string | null): Dav {
  const authorization: Record<string, string> =
    key === null ? {} : { authorization: `Basic ${Buffer.from(`anyone:${key}`).toString('base64')}` }
  return async (method, path, { headers, body } = {}) => {
    const response = await fetch(`${url}/dav${path}`, {
      method,
      headers: { ...authorization, ...headers },
      ...(body !== undefined && { body, duplex: 'half' }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, reason: /<s:exception>(\w+)</.exec(text)?.[1] }
  }
}

/** The properties of each resource that were found, by their names without namespaces, and the names of missing ones. */
export interface DavResource {
  href: string
  found: Record<string, string>
  missing: string[]
}

export async function resourcesIn({ text }: Pick<DavAnswer, 'text'>): Promise<DavResource[]> {
  const root = await parseXml(Buffer.from(text), 10_000_000)
  return elementsOf(root).map(response => {
    const resource: DavResource = { href: '', found: {}, missing: [] }
    for (const child of elementsOf(response)) {
      if (child.name === 'href') resource.href = textOf(child)
      if (child.name !== 'propstat') continue
      const [prop, status] = elementsOf(child)
      for (const property of prop ? elementsOf(prop) : []) {
        if (status && / 200 /.test(textOf(status))) resource.found[property.name] = contentOf(property)
        else resource.missing.push(property.name)
      }
    }
    return resource
  })
}

/** Returns the text of an element, or the names of the elements in it. */
function contentOf(element: XmlElement): string {
  const inner = elementsOf(element)
  return inner.length === 0 ? textOf(element) : inner.map(({ name }) => name).join(' ')
}

export function propfindOf(...names: string[]): string {
  return `<?xml version="1.0"?><D:propfind xmlns:D="DAV:" xmlns:oc="http://owncloud.org/ns" xmlns:x="urn:x"><D:prop>${names.map(name => `<${name}/>`).join('')}</D:prop></D:propfind>`
}

export function setProperty(xml: string): string {
  return `<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:"><D:set><D:prop>${xml}</D:prop></D:set></D:propertyupdate>`
}

export function lockInfo(scope: 'exclusive' | 'shared' = 'exclusive'): string {
  return `<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:${scope}/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner><D:href>a test</D:href></D:owner></D:lockinfo>`
}

/** Returns the token of a response to LOCK. */
export function tokenOf({ headers }: DavAnswer): string {
  return headers.get('lock-token')?.slice(1, -1) ?? ''
}
