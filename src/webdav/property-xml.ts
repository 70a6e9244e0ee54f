/** Elements of properties as XML. The document binds `D` to `DAV:` and `oc` to the namespace of ownCloud. */
import { type XmlElement, xmlNamespace } from '../http/xml/parse.ts'
import { escapeXml } from '../http/xml/write.ts'
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

/** Returns an element of a client as XML that does not depend on the document around it. */
export function serialize(element: XmlElement): string {
  return serializeNode(element, element.language)
}

function serializeNode({ namespace, name, attributes, children }: XmlElement, language: string | null): string {
  const [tag, declaration] = tagIn(namespace, name)
  const given = attributes.map((attribute, index) => {
    const value = `="${escapeXml(attribute.value)}"`
    if (attribute.namespace === '') return ` ${attribute.name}${value}`
    if (attribute.namespace === xmlNamespace) return attribute.name === 'lang' ? '' : ` xml:${attribute.name}${value}`
    return ` xmlns:a${index}="${escapeXml(attribute.namespace)}" a${index}:${attribute.name}${value}`
  })
  const own = attributes.find(each => each.namespace === xmlNamespace && each.name === 'lang')?.value ?? language
  const content = children.map(child => (typeof child === 'string' ? escapeXml(child) : serializeNode(child, null)))
  const start = `<${tag}${declaration}${own === null ? '' : ` xml:lang="${escapeXml(own)}"`}${given.join('')}`
  return content.length === 0 ? `${start}/>` : `${start}>${content.join('')}</${tag}>`
}

/** Returns the tag and the declaration of its namespace. */
function tagIn(namespace: string, name: string): [tag: string, declaration: string] {
  return namespace === '' ? [name, ' xmlns=""'] : [`x:${name}`, ` xmlns:x="${escapeXml(namespace)}"`]
}
