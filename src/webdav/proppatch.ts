/** PROPPATCH: RFC 4918, section 9.2. All changes are made or none. */
import { AppError } from '../errors.ts'
import { elementsOf, parseXml } from '../http/xml/parse.ts'
import type { DeadProperty, PropertyChanges } from '../services/webdav/properties.ts'
import { bodyOf, type DavRequest, hrefOf } from './dav-request.ts'
import { xmlType } from './errors.ts'
import { liveProperties } from './live-properties.ts'
import { multistatusEnd, multistatusStart, type Propstat, propertyResponse } from './multistatus.ts'
import { davNamespace, type PropertyName, propertyName, splitName } from './names.ts'
import { requirePreconditions } from './preconditions.ts'
import { propertyElement, serialize } from './property-xml.ts'

/** The maximum number of properties in a request. */
const maxChanges = 200
const maxElements = 2000

export async function proppatch(dav: DavRequest): Promise<void> {
  const { viewer, target, options, request, reply, signal } = dav
  const changes = parseChanges(bodyOf(request))
  await requirePreconditions(dav, [{ location: target, isTree: false, isMember: false }])
  const names = [...changes.set.map(({ name }) => name), ...changes.remove]
  const refused = names.filter(isProtected)
  const { kind } = await options.services.files.stat(viewer, target, signal)
  if (refused.length === 0) await options.services.webdavProperties.update(viewer, target, changes, signal)
  const href = hrefOf(options, target, kind === 'directory')
  const response = propertyResponse(href, refused.length === 0 ? [stat(200, names)] : failed(names, refused))
  reply
    .status(207)
    .header('Content-Type', xmlType)
    .send(multistatusStart + response + multistatusEnd)
}

/** Later instructions win: section 14.26 requires document order. @throws INVALID_INPUT */
function parseChanges(body: Buffer): PropertyChanges {
  const root = parseXml(body, maxElements)
  if (root.namespace !== davNamespace || root.name !== 'propertyupdate') {
    throw new AppError('INVALID_INPUT', 'The body must be a "propertyupdate" element.')
  }
  const changes = new Map<PropertyName, DeadProperty | null>()
  for (const instruction of elementsOf(root)) {
    const { namespace, name } = instruction
    if (namespace !== davNamespace || (name !== 'set' && name !== 'remove')) continue
    for (const property of elementsOf(instruction).flatMap(elementsOf)) {
      const key = propertyName(property.namespace, property.name)
      changes.set(key, name === 'set' ? { name: key, xml: serialize(property) } : null)
    }
  }
  if (changes.size === 0 || changes.size > maxChanges) {
    throw new AppError('INVALID_INPUT', `A request changes 1 to ${maxChanges} properties.`)
  }
  return {
    set: [...changes.values()].filter(change => change !== null),
    remove: [...changes].filter(([, change]) => change === null).map(([name]) => name),
  }
}

function isProtected(property: PropertyName): boolean {
  return liveProperties.has(property) || splitName(property).namespace === davNamespace
}

function failed(names: readonly PropertyName[], refused: readonly PropertyName[]): Propstat[] {
  const others = names.filter(name => !refused.includes(name))
  const error = '<D:cannot-modify-protected-property/>'
  return [{ ...stat(403, refused), error }, ...(others.length > 0 ? [stat(424, others)] : [])]
}

function stat(status: number, names: readonly PropertyName[]): Propstat {
  return { status, properties: names.map(name => propertyElement(name, '')).join('') }
}
