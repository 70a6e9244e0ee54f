/**
 * Multi-status responses (RFC 4918, section 13), and the names and the XML of the properties in them. The document binds `D`
 * to `DAV:` and `oc` to the namespace of ownCloud.
 */
import { STATUS_CODES } from 'node:http'
import type { FastifyReply } from 'fastify'
import { AppError } from '../../errors.ts'
import { hijack } from '../../http/admission.ts'
import { cutResponse } from '../../http/connection/client-abort.ts'
import { write } from '../../http/content/send-file.ts'
import { escapeXml, type XmlAttribute, type XmlElement, xmlDeclaration, xmlNamespace } from '../../http/xml.ts'
import { xmlType } from './errors.ts'

export const multistatusStart = `${xmlDeclaration}<D:multistatus xmlns:D="DAV:" xmlns:oc="http://owncloud.org/ns">\n`
export const multistatusEnd = '</D:multistatus>\n'

/** Characters that are collected before they are sent. */
const chunkLength = 128 * 1024

/**
 * Sends a multi-status response while its parts are made, as fast as the client reads. Until the first batch of parts exists, a
 * failure is a proper error response. After that it cuts the connection instead of throwing, so that the client does not
 * mistake a part of the listing for all of it.
 * @param batches each is made while it is sent, so that it never exists as a whole
 */
export async function sendMultistatus(
  reply: FastifyReply,
  signal: AbortSignal,
  batches: AsyncGenerator<Iterable<string>>,
): Promise<void> {
  let batch = await batches.next()
  reply.header('Content-Type', xmlType)
  hijack(reply, chunkLength)
  const response = reply.raw
  let waiting = multistatusStart
  const send = async () => {
    const xml = Buffer.from(waiting)
    waiting = ''
    await write(response, xml, signal)
  }
  try {
    response.writeHead(207, reply.getHeaders() as Record<string, string>)
    for (; !batch.done; batch = await batches.next()) {
      for (const xml of batch.value) {
        waiting += xml
        if (waiting.length >= chunkLength) await send()
      }
      // The next batch can take long.
      if (waiting !== '') await send()
    }
    waiting = multistatusEnd
    await send()
    response.end()
  } catch (error) {
    cutResponse(reply, error, signal)
  } finally {
    await batches.return(undefined)
  }
}

export interface Propstat {
  status: number
  /** XML elements. */
  properties: string
  /** XML about the precondition that failed. */
  error?: string
  /** A text for people. */
  description?: string
}

export function propertyResponse(href: string, propstats: readonly Propstat[]): string {
  const parts = propstats.map(
    ({ status, properties, error = '', description = '' }) =>
      `<D:propstat><D:prop>${properties}</D:prop><D:status>HTTP/1.1 ${status} ${STATUS_CODES[status]}</D:status>${error && `<D:error>${error}</D:error>`}${description && `<D:responsedescription>${escapeXml(description)}</D:responsedescription>`}</D:propstat>`,
  )
  return `<D:response><D:href>${escapeXml(href)}</D:href>${parts.join('')}</D:response>\n`
}

export const davNamespace = 'DAV:'
/** The properties of ownCloud and Nextcloud, which many clients know. */
export const ocNamespace = 'http://owncloud.org/ns'

/** A name as `{namespace}name`. */
export type PropertyName = string

/** Characters of all names in a request, with their namespaces. Its response can repeat them for each entry of a folder. */
const maxNames = 16 * 1024

/** Returns the names of the properties in a request. @throws INVALID_INPUT */
export function requestedNames(properties: readonly XmlElement[]): PropertyName[] {
  const length = properties.reduce((sum, { namespace, name }) => sum + namespace.length + name.length, 0)
  if (length > maxNames) {
    const what = 'The names of properties in a request, with their namespaces,'
    throw new AppError(
      'INVALID_INPUT',
      `${what} can have at most ${maxNames} characters in all: send several requests.`,
    )
  }
  return properties.map(({ namespace, name }) => propertyName(namespace, name))
}

export function propertyName(namespace: string, name: string): PropertyName {
  return `{${namespace}}${name}`
}

export function splitName(property: PropertyName): { namespace: string; name: string } {
  const end = property.lastIndexOf('}')
  return { namespace: property.slice(1, end), name: property.slice(end + 1) }
}

const prefixes = new Map([
  [davNamespace, 'D'],
  [ocNamespace, 'oc'],
])

/** @param content XML */
export function propertyElement(property: PropertyName, content: string): string {
  const { namespace, name } = splitName(property)
  const prefix = prefixes.get(namespace)
  const [tag, declaration] = prefix ? [`${prefix}:${name}`, ''] : tagIn(namespace, name)
  return content === '' ? `<${tag}${declaration}/>` : `<${tag}${declaration}>${content}</${tag}>`
}

/**
 * Returns an element of a client as XML that does not depend on the document around it; null if that has more than `maxBytes`. It
 * can be much larger than in the document, because each element in it declares its namespace.
 */
export function serialize(element: XmlElement, maxBytes: number): string | null {
  let xml = ''
  let bytes = 0
  for (const part of partsOf(element, element.language)) {
    bytes += Buffer.byteLength(part)
    if (bytes > maxBytes) return null
    xml += part
  }
  return xml
}

function* partsOf({ namespace, name, attributes, children }: XmlElement, language: string | null): Generator<string> {
  const [tag, declaration] = tagIn(namespace, name)
  yield `<${tag}${declaration}`
  const own = attributes.find(each => each.namespace === xmlNamespace && each.name === 'lang')?.value ?? language
  if (own !== null) yield ` xml:lang="${escapeXml(own)}"`
  for (const [index, attribute] of attributes.entries()) yield attributeXml(attribute, index)
  if (children.length === 0) {
    yield '/>'
    return
  }
  yield '>'
  for (const child of children) {
    if (typeof child === 'string') yield escapeXml(child)
    else yield* partsOf(child, null)
  }
  yield `</${tag}>`
}

/** Returns nothing for the language, which the element has already. */
function attributeXml({ namespace, name, value }: XmlAttribute, index: number): string {
  const end = `${name}="${escapeXml(value)}"`
  if (namespace === '') return ` ${end}`
  if (namespace === xmlNamespace) return name === 'lang' ? '' : ` xml:${end}`
  return ` xmlns:a${index}="${escapeXml(namespace)}" a${index}:${end}`
}

/** Returns the tag and the declaration of its namespace. */
function tagIn(namespace: string, name: string): [tag: string, declaration: string] {
  return namespace === '' ? [name, ' xmlns=""'] : [`x:${name}`, ` xmlns:x="${escapeXml(namespace)}"`]
}
