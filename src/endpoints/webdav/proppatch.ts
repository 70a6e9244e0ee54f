/** PROPPATCH: RFC 4918, section 9.2. All changes are made or none. */
import { AppError } from '../../errors.ts'
import { elementsOf, parseXml, type XmlElement } from '../../http/xml.ts'
import {
  type EntryProperty,
  maxPropertiesSize,
  type PropertyChanges,
  tooManyProperties,
} from '../../services/entry-metadata/properties.ts'
import { xmlType } from './errors.ts'
import { liveProperties } from './live-properties.ts'
import {
  davNamespace,
  multistatusEnd,
  multistatusStart,
  type PropertyName,
  type Propstat,
  propertyElement,
  propertyResponse,
  requestedNames,
  serialize,
  splitName,
} from './multistatus.ts'
import { requirePreconditions } from './preconditions.ts'
import { bodyOf, type DavRequest, hrefOf } from './request.ts'

/** The maximum number of properties in a request. */
const maxChanges = 200
const maxElements = 2000

/** The elements to set, and null for the properties to remove. */
type RequestedChanges = ReadonlyMap<PropertyName, XmlElement | null>

export async function proppatch(dav: DavRequest): Promise<void> {
  const { viewer, target, options, request, reply, signal } = dav
  const changes = await parseChanges(bodyOf(request))
  await requirePreconditions(dav, [{ location: target, isTree: false, isMember: false }])
  const { kind } = await options.services.files.stat(viewer, target, signal)
  const response = propertyResponse(hrefOf(options, target, kind === 'directory'), await change(dav, changes))
  reply
    .status(207)
    .header('Content-Type', xmlType)
    .send(multistatusStart + response + multistatusEnd)
}

async function change({ viewer, target, options, signal }: DavRequest, changes: RequestedChanges): Promise<Propstat[]> {
  const names = [...changes.keys()]
  const refused = names.filter(isProtected)
  if (refused.length > 0) {
    return failed(names, { ...stat(403, refused), error: '<D:cannot-modify-protected-property/>' }, refused)
  }
  try {
    await options.services.entryProperties.update(viewer, target, toPropertyChanges(changes), signal)
    return [stat(200, names)]
  } catch (error) {
    if (!(error instanceof AppError) || error.reason !== 'QUOTA_EXCEEDED') throw error
    options.services.audit.noteRefusal(viewer, 'PROPERTIES_UPDATE', { location: target }, error)
    const set = names.filter(name => changes.get(name) !== null)
    return failed(names, { ...stat(507, set), description: error.message }, set)
  }
}

/** Later instructions win: section 14.26 requires document order. @throws INVALID_INPUT */
async function parseChanges(body: Buffer): Promise<RequestedChanges> {
  const root = await parseXml(body, maxElements)
  if (root.namespace !== davNamespace || root.name !== 'propertyupdate') {
    throw new AppError('INVALID_INPUT', 'The body must be a "propertyupdate" element.')
  }
  const instructions = elementsOf(root).filter(
    ({ namespace, name }) => namespace === davNamespace && (name === 'set' || name === 'remove'),
  )
  const elements = instructions.flatMap(instruction =>
    elementsOf(instruction)
      .flatMap(elementsOf)
      .map(element => ({ element, isSet: instruction.name === 'set' })),
  )
  const names = requestedNames(elements.map(({ element }) => element))
  const changes = new Map(names.map((name, index) => [name, elements[index]?.isSet ? elements[index].element : null]))
  if (changes.size === 0 || changes.size > maxChanges) {
    throw new AppError('INVALID_INPUT', `A request changes 1 to ${maxChanges} properties.`)
  }
  return changes
}

/** @throws QUOTA_EXCEEDED */
function toPropertyChanges(changes: RequestedChanges): PropertyChanges {
  const set: EntryProperty[] = []
  const remove: PropertyName[] = []
  let left = maxPropertiesSize
  for (const [name, element] of changes) {
    if (element === null) {
      remove.push(name)
      continue
    }
    const xml = serialize(element, left)
    if (xml === null) throw tooManyProperties()
    left -= Buffer.byteLength(xml)
    set.push({ name, xml })
  }
  return { set, remove }
}

function isProtected(property: PropertyName): boolean {
  return liveProperties.has(property) || splitName(property).namespace === davNamespace
}

/** The other changes fail because of the wrong ones. */
function failed(names: readonly PropertyName[], cause: Propstat, wrong: readonly PropertyName[]): Propstat[] {
  const others = names.filter(name => !wrong.includes(name))
  return others.length > 0 ? [cause, stat(424, others)] : [cause]
}

function stat(status: number, names: readonly PropertyName[]): Propstat {
  return { status, properties: names.map(name => propertyElement(name, '')).join('') }
}
