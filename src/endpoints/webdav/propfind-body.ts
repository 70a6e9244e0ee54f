import { AppError } from '../../errors.ts'
import { childNamed, elementsOf, parseXml } from '../../http/xml/parse.ts'
import { davNamespace, type PropertyName, requestedNames } from './names.ts'

/** The properties that a PROPFIND request asks for. `all` includes the dead ones, and `include` adds some that it lacks. */
export type WantedProperties =
  | { kind: 'all'; include: readonly PropertyName[] }
  | { kind: 'names' }
  | { kind: 'some'; names: readonly PropertyName[] }

/** The maximum number of properties in a request. */
const maxWanted = 200
const maxElements = 1000

/** Parses the body of a PROPFIND request. Without one, all properties are wanted. @throws INVALID_INPUT */
export async function parsePropfind(body: Uint8Array): Promise<WantedProperties> {
  if (body.length === 0) return { kind: 'all', include: [] }
  const root = await parseXml(body, maxElements)
  if (root.namespace !== davNamespace || root.name !== 'propfind') throw malformed()
  const child = (name: string) => childNamed(root, davNamespace, name)
  const names = (name: string): PropertyName[] => {
    const element = child(name)
    const found = new Set(element ? requestedNames(elementsOf(element)) : [])
    if (found.size > maxWanted) {
      throw new AppError('INVALID_INPUT', `A request can ask for at most ${maxWanted} properties.`)
    }
    return [...found]
  }
  const kinds = ['allprop', 'propname', 'prop'].filter(child)
  if (kinds.length !== 1) throw malformed()
  if (kinds[0] === 'allprop') return { kind: 'all', include: names('include') }
  return kinds[0] === 'propname' ? { kind: 'names' } : { kind: 'some', names: names('prop') }
}

function malformed(): AppError {
  return new AppError('INVALID_INPUT', 'The body must be a "propfind" element with "prop", "allprop" or "propname".')
}
