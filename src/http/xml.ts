/**
 * Parses XML from clients into a small tree, and escapes texts for XML. Document types are refused, so there are no entities
 * to expand.
 */
import { SaxesParser } from 'saxes'
import { AppError } from '../errors.ts'
import { yieldToOthers } from '../lib/event-loop.ts'

export interface XmlElement {
  /** The URI; empty for none. */
  namespace: string
  /** The name without its prefix. */
  name: string
  /** Without declarations of namespaces. */
  attributes: readonly XmlAttribute[]
  /** The language in whose scope the element is (`xml:lang`), or null. */
  language: string | null
  children: (XmlElement | string)[]
}

export interface XmlAttribute {
  namespace: string
  name: string
  value: string
}

/** The maximum depth of elements. The time to resolve a prefix grows with it. */
const maxDepth = 32
const maxAttributes = 64
/** The maximum number of attributes of all elements together. Each takes as long as several elements. */
const maxAllAttributes = 2000
/** The maximum number of elements and texts in an element that is passed on. Each part of an upload has fewer than 20. */
const maxTaken = 100
/** Bytes that are parsed in one turn, within milliseconds. */
const step = 32 * 1024
export const xmlNamespace = 'http://www.w3.org/XML/1998/namespace'
const declarations = 'http://www.w3.org/2000/xmlns/'

/**
 * Parses a document in UTF-8. Its caller bounds its size. A long document takes turns with other work.
 * @param maxElements bounds the elements and texts of the document
 * @param take gets each element in the root when it is complete, instead of the tree, which then has only the root
 * @throws INVALID_INPUT, and what `take` throws
 */
export async function parseXml(
  bytes: Uint8Array,
  maxElements: number,
  take?: (element: XmlElement) => void,
): Promise<XmlElement> {
  const parser = new SaxesParser<{ xmlns: true }>({ xmlns: true })
  const open: XmlElement[] = []
  let root: XmlElement | null = null
  let count = 0
  let inTaken = 0
  let attributes = 0
  let allAttributes = 0
  const add = (node: XmlElement | string) => {
    count += 1
    inTaken += 1
    if (count > maxElements) throw malformed(`has more than ${maxElements} elements`)
    if (take && open.length > 1 && inTaken > maxTaken)
      throw malformed(`has an element with more than ${maxTaken} others`)
    const parent = open.at(-1)
    if (!take || parent !== root) parent?.children.push(node)
  }
  parser.on('error', error => {
    throw malformed(`is malformed (${error.message})`, error)
  })
  parser.on('doctype', () => {
    throw malformed('has a document type, which is not allowed')
  })
  parser.on('opentagstart', () => {
    attributes = 0
  })
  parser.on('attribute', () => {
    attributes += 1
    allAttributes += 1
    if (attributes > maxAttributes) throw malformed(`has an element with more than ${maxAttributes} attributes`)
    if (allAttributes > maxAllAttributes) throw malformed(`has more than ${maxAllAttributes} attributes`)
  })
  parser.on('opentag', tag => {
    const given = Object.values(tag.attributes).filter(({ uri }) => uri !== declarations)
    const language = given.find(({ uri, local }) => uri === xmlNamespace && local === 'lang')
    const element: XmlElement = {
      namespace: tag.uri,
      name: tag.local,
      attributes: given.map(({ uri, local, value }) => ({ namespace: uri, name: local, value })),
      language: language?.value ?? open.at(-1)?.language ?? null,
      children: [],
    }
    if (open.length >= maxDepth) throw malformed(`is deeper than ${maxDepth} elements`)
    if (open.length === 1) inTaken = 0
    add(element)
    root ??= element
    open.push(element)
  })
  parser.on('closetag', () => {
    const closed = open.pop()
    if (take && closed && open.length === 1) take(closed)
  })
  parser.on('text', text => open.length > 0 && add(text))
  parser.on('cdata', add)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for (let at = 0; at < bytes.length; at += step) {
    if (bytes.length > step) await yieldToOthers()
    parser.write(decode(decoder, bytes.subarray(at, at + step)))
  }
  parser.write(decode(decoder)).close()
  if (!root) throw malformed('is empty')
  return root
}

/** Returns the elements among the children. */
export function elementsOf({ children }: XmlElement): XmlElement[] {
  return children.filter(child => typeof child !== 'string')
}

/** Returns the text of the element without that of its elements. */
export function textOf({ children }: XmlElement): string {
  return children.filter(child => typeof child === 'string').join('')
}

/** Returns the first child with this name. */
export function childNamed(element: XmlElement, namespace: string, name: string): XmlElement | undefined {
  return elementsOf(element).find(child => child.namespace === namespace && child.name === name)
}

/** @param bytes the next ones; none at the end */
function decode(decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined })
  } catch (cause) {
    throw malformed('is not UTF-8', cause)
  }
}

function malformed(how: string, cause?: unknown): AppError {
  return new AppError('INVALID_INPUT', `The XML in the body ${how}.`, { cause })
}

/** Writes XML. */

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

const special = /[&<>"\r\n\t]/
const specials = /[&<>"\r\n\t]/g
const suspicious = /\p{Cc}|[\ufffe\uffff]/gu

export const xmlDeclaration = '<?xml version="1.0" encoding="utf-8"?>\n'

/** Escapes a text for an element or for an attribute in double quotes. Characters that XML cannot contain become U+FFFD. */
export function escapeXml(text: string): string {
  const allowed = text.toWellFormed().replace(suspicious, character => (isAllowed(character) ? character : '\ufffd'))
  return special.test(allowed) ? allowed.replace(specials, character => escapes[character] ?? character) : allowed
}

/** Returns whether XML 1.0 can contain a control character or a noncharacter, even as a reference: section 2.2. */
function isAllowed(character: string): boolean {
  return '\t\n\r'.includes(character) || (character >= '\x7f' && character < '\ufffe')
}
