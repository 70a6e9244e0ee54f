/** The names of properties. */
import { AppError } from '../../errors.ts'
import type { XmlElement } from '../../http/xml/parse.ts'

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
