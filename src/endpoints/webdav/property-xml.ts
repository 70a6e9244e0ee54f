/** Elements of properties as XML. The document binds `D` to `DAV:` and `oc` to the namespace of ownCloud. */
import { type XmlAttribute, type XmlElement, xmlNamespace } from '../../http/xml/parse.ts'
import { escapeXml } from '../../http/xml/write.ts'
import { davNamespace, ocNamespace, type PropertyName, splitName } from './names.ts'

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
