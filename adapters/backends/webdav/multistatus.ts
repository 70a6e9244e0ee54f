/** Parses the responses of PROPFIND while they arrive: RFC 4918, section 13. */
import { SaxesParser } from 'saxes'
import { StorageError } from '../../contract.ts'

export const davNamespace = 'DAV:'
export const ocNamespace = 'http://owncloud.org/ns'

/** One resource with the properties that the server has found. */
export interface DavResource {
  href: string
  /** By namespace and name, separated by a space. */
  properties: Map<string, DavProperty>
  /** The status of the resource as a whole, where it has one instead of properties. */
  status: number | null
}

export interface DavProperty {
  text: string
  /** The names of the elements in it, as those of `properties`. */
  elements: string[]
}

/** The maximum number of resources, which are kept in memory. */
const maxResources = 1_000_000
/** The maximum number of elements in one resource. */
const maxElements = 500
/** Characters of one text. */
const maxText = 64 * 1024
/** The depth of a property: multistatus, response, propstat, prop, the property. */
const propertyDepth = 5

/** Yields resources with properties. @throws UNAVAILABLE for a response that is malformed or too large */
export async function* resourcesIn(body: AsyncIterable<Uint8Array>): AsyncGenerator<DavResource> {
  for await (const resource of everythingIn(body, () => {})) if (resource.properties.size > 0) yield resource
}

/**
 * Passes all resources on, also those that are gone. Returns the position after the changes: RFC 6578, section 6.2.
 * @throws as `resourcesIn`
 */
export async function changesIn(
  body: AsyncIterable<Uint8Array>,
  onResource: (resource: DavResource) => void,
): Promise<string | null> {
  let token: string | null = null
  const onToken = (text: string) => {
    token = text
  }
  for await (const resource of everythingIn(body, onToken)) onResource(resource)
  return token
}

async function* everythingIn(
  body: AsyncIterable<Uint8Array>,
  onToken: (token: string) => void,
): AsyncGenerator<DavResource> {
  const found: DavResource[] = []
  const parser = createParser(resource => found.push(resource), onToken)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let count = 0
  function* ready() {
    count += found.length
    if (count > maxResources) throw malformed(`it has more than ${maxResources} entries`)
    yield* found.splice(0)
  }
  try {
    for await (const chunk of body) {
      parser.write(decoder.decode(chunk, { stream: true }))
      yield* ready()
    }
    parser.write(decoder.decode()).close()
  } catch (error) {
    throw isInvalidText(error) ? malformed('it is not UTF-8', error) : error
  }
  yield* ready()
}

function createParser(
  onResource: (resource: DavResource) => void,
  onToken: (token: string) => void,
): SaxesParser<{ xmlns: true }> {
  const parser = new SaxesParser<{ xmlns: true }>({ xmlns: true })
  const path: string[] = []
  let resource: DavResource = { href: '', properties: new Map(), status: null }
  let [properties, status, text, elements] = [new Map<string, DavProperty>(), '', '', 0]
  let property: DavProperty = { text: '', elements: [] }
  const add = (more: string) => {
    if (path.length >= propertyDepth) property.text += more
    else text += more
    if (text.length + property.text.length > maxText) throw malformed('it has a text that is too long')
  }
  parser.on('error', error => {
    throw malformed(error.message, error)
  })
  parser.on('doctype', () => {
    throw malformed('it has a document type')
  })
  parser.on('text', add)
  parser.on('cdata', add)
  parser.on('opentag', ({ uri, local }) => {
    const name = `${uri} ${local}`
    path.push(name)
    if (path.length === 1 && name !== 'DAV: multistatus') throw malformed(`it is <${local}> instead of <multistatus>`)
    if (++elements > maxElements) throw malformed(`an entry has more than ${maxElements} elements`)
    if (path.length === 2) {
      resource = { href: '', properties: new Map(), status: null }
      elements = 0
    }
    if (path.length === 3) [properties, status] = [new Map(), '']
    if (path.length < propertyDepth) text = ''
    if (path.length === propertyDepth) property = { text: '', elements: [] }
    if (path.length > propertyDepth) property.elements.push(name)
  })
  parser.on('closetag', () => {
    const name = path.pop()
    const { length } = path
    if (length === 4 && path[3] === 'DAV: prop') properties.set(name ?? '', property)
    if (length === 3 && name === 'DAV: status') status = text
    if (length === 2 && name === 'DAV: href') resource.href = text.trim()
    if (length === 2 && name === 'DAV: status') resource.status = Number(/ (\d{3})\b/.exec(text)?.[1]) || null
    if (length === 1 && name === 'DAV: sync-token') onToken(text.trim())
    // A missing status means success, as some servers leave it out.
    if (length === 2 && name === 'DAV: propstat' && (status === '' || / 2\d\d\b/.test(status))) {
      for (const [key, value] of properties) resource.properties.set(key, value)
    }
    if (length === 1 && name === 'DAV: response' && (resource.properties.size > 0 || resource.status !== null)) {
      onResource(resource)
    }
  })
  return parser
}

function isInvalidText(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
}

function malformed(why: string, cause?: unknown): StorageError {
  const message = 'The server does not respond as a WebDAV server: check the address.'
  return new StorageError('UNAVAILABLE', message, { cause: cause ?? new Error(why) })
}

/** Encodes a path for a URL. */
export function encodeSegments(names: readonly string[]): string {
  return names.map(encodeURIComponent).join('/')
}

/** Returns the decoded path of a URL or of an absolute path, without a `/` at its end; null if it cannot be decoded. */
export function decodeHref(href: string): string | null {
  const [path = ''] = href.replace(/^https?:\/\/[^/]*/i, '').split(/[?#]/, 1)
  try {
    return decodeURIComponent(path).replace(/\/$/, '')
  } catch {
    return null
  }
}

/**
 * Returns the names of the entries in a folder, by the addresses in its listing; null for the folder itself and for what
 * cannot be an entry.
 * @param folder the decoded path of the folder
 */
export function namesIn(hrefs: readonly string[], folder: string): (string | null)[] {
  const paths = hrefs.map(decodeHref)
  const own = folder.replace(/\/$/, '')
  // Behind some proxies, all addresses have another beginning. That of the folder is the shortest then.
  const shortest = Math.min(...paths.map(path => path?.length ?? Number.POSITIVE_INFINITY))
  const isKnown = paths.includes(own)
  return paths.map(path => {
    if (path === null || (isKnown ? path === own : path.length === shortest)) return null
    const name = path.slice(path.lastIndexOf('/') + 1)
    return ['', '.', '..'].includes(name) ? null : name
  })
}
