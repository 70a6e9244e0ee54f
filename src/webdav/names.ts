/** The names of properties. */
export const davNamespace = 'DAV:'
/** The properties of ownCloud and Nextcloud, which many clients know. */
export const ocNamespace = 'http://owncloud.org/ns'

/** A name as `{namespace}name`. */
export type PropertyName = string

export function propertyName(namespace: string, name: string): PropertyName {
  return `{${namespace}}${name}`
}

export function splitName(property: PropertyName): { namespace: string; name: string } {
  const end = property.lastIndexOf('}')
  return { namespace: property.slice(1, end), name: property.slice(end + 1) }
}
