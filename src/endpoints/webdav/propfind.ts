/** PROPFIND: RFC 4918, section 9.1. Folders are read and sent page by page. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { needs } from '../../auth/needs.ts'
import { formatPath, root, type StoragePath } from '../../auth/path.ts'
import { requireScope } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { ProviderRecord } from '../../db/providers.ts'
import { AppError } from '../../errors.ts'
import type { Serve } from '../../http/admission.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { childNamed, elementsOf, parseXml } from '../../http/xml.ts'
import type { EntryLock } from '../../services/entry-metadata/locks.ts'
import {
  type EntryProperties,
  type EntryProperty,
  noProperties,
  type PropertyReader,
} from '../../services/entry-metadata/properties.ts'
import type { FileEntry } from '../../services/files/index.ts'
import { davError } from './errors.ts'
import { parseDepth } from './headers.ts'
import {
  listStorages,
  liveProperties,
  lockDiscovery,
  namesOfAll,
  type PropertySource,
  quotaProperties,
  type VirtualFolder,
  virtualSource,
} from './live-properties.ts'
import {
  davNamespace,
  type PropertyName,
  type Propstat,
  propertyElement,
  propertyResponse,
  requestedNames,
  sendMultistatus,
} from './multistatus.ts'
import {
  authorizeRequest,
  bodyOf,
  type DavOptions,
  type DavRequest,
  hrefOf,
  locateRequest,
  parseAddress,
  pathnameOf,
} from './request.ts'

/** The properties that a PROPFIND request asks for. `all` includes the dead ones, and `include` adds some that it lacks. */
type WantedProperties =
  | { kind: 'all'; include: readonly PropertyName[] }
  | { kind: 'names' }
  | { kind: 'some'; names: readonly PropertyName[] }

/** The maximum number of properties in a request. */
const maxWanted = 200
const maxElements = 1000

/** Authorizes a request before its body is read. */
export async function openPropfind(request: FastifyRequest, reply: FastifyReply, options: DavOptions): Promise<Serve> {
  const viewer = requireScope(request.viewer, 'read')
  const depth = parseDepth(request.headers, ['0', '1', 'infinity'], 'infinity')
  if (depth === 'infinity') {
    throw davError(403, 'INVALID_INPUT', 'Send "Depth: 0" or "Depth: 1", and ask for each folder by itself.', {
      precondition: '<D:propfind-finite-depth/>',
    })
  }
  const withMembers = depth === '1'
  const wanted = () => parsePropfind(bodyOf(request))
  if (parseAddress(pathnameOf(request)).slug === null) {
    return async () => sendVirtual(request, reply, await listStorages(viewer, options), await wanted(), withMembers)
  }
  const dav = await locateRequest(request, reply, options, needs.read)
  const { target } = dav
  const way = options.services.files.wayDown(viewer, target)
  if (way) {
    const hrefAt = (path: string) => hrefOf(options, { slug: target.slug, path }, true)
    const folders = way.map(entry => ({ ...entry, href: hrefAt(formatPath(entry.path)) }))
    return async () => sendVirtual(request, reply, folders, await wanted(), withMembers)
  }
  authorizeRequest(dav, needs.read)
  return async () => sendEntries(dav, await wanted(), withMembers)
}

/** Parses the body of a PROPFIND request. Without one, all properties are wanted. @throws INVALID_INPUT */
async function parsePropfind(body: Uint8Array): Promise<WantedProperties> {
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
  const forms = ['allprop', 'propname', 'prop'].filter(child)
  if (forms.length !== 1) throw malformed()
  if (forms[0] === 'allprop') return { kind: 'all', include: names('include') }
  return forms[0] === 'propname' ? { kind: 'names' } : { kind: 'some', names: names('prop') }
}

function malformed(): AppError {
  return new AppError('INVALID_INPUT', 'The body must be a "propfind" element with "prop", "allprop" or "propname".')
}

/** @param folders the folder, then those in it */
async function sendVirtual(
  request: FastifyRequest,
  reply: FastifyReply,
  folders: readonly VirtualFolder[],
  wanted: WantedProperties,
  withMembers: boolean,
): Promise<void> {
  const viewer = requireScope(request.viewer, 'read')
  const shown = withMembers ? folders : folders.slice(0, 1)
  await sendMultistatus(reply, requestSignal(request), virtualResponses(shown, viewer, wanted))
}

async function sendEntries(dav: DavRequest, wanted: WantedProperties, withMembers: boolean): Promise<void> {
  const { viewer, target, options, reply } = dav
  await options.services.files.withChildren(viewer, target, dav.signal, (entry, pages, signal) =>
    sendMultistatus(reply, signal, entryResponses(dav, entry, withMembers ? pages : null, wanted)),
  )
}

/** The responses of a PROPFIND request in batches, for `sendMultistatus`. They are made one by one while they are sent. */
type Responses = AsyncGenerator<Iterable<string>, void, undefined>

async function* virtualResponses(
  folders: readonly VirtualFolder[],
  viewer: Viewer,
  wanted: WantedProperties,
): Responses {
  const respond = entryResponder(wanted)
  yield folders.map(folder => respond(folder.href, virtualSource(folder, viewer), []))
}

/** @param pages the entries in a folder; null without them */
async function* entryResponses(
  dav: DavRequest,
  entry: FileEntry,
  pages: AsyncIterable<FileEntry[]> | null,
  wanted: WantedProperties,
): Responses {
  const { target, options } = dav
  const { properties, sourceOf } = await loadFacts(dav, entry, wanted)
  const respond = entryResponder(wanted)

  function* write(entries: readonly FileEntry[], dead: EntryProperties): Generator<string> {
    for (const each of entries) {
      const href = hrefOf(options, { slug: target.slug, path: formatPath(each.path) }, each.kind === 'directory')
      yield respond(href, sourceOf(each), dead.get(each.path) ?? [])
    }
  }

  async function* responsesOf(entries: readonly FileEntry[]): Responses {
    for await (const batch of properties.batches(entries)) yield write(batch.entries, batch.properties)
  }

  const members = pages?.[Symbol.asyncIterator]()
  try {
    // The first page is read before the first batch, because until then a failure is a proper error response.
    let page = await members?.next()
    yield* responsesOf([entry])
    while (page && !page.done) {
      // The back end reads the next page meanwhile.
      const next = members?.next()
      next?.catch(() => {})
      yield* responsesOf(page.value)
      page = await next
    }
  } finally {
    await members?.return?.()
  }
}

/** The properties of entries in a multi-status response. */
type EntryResponder = (href: string, source: PropertySource, dead: readonly EntryProperty[]) => string

/** Returns a function that writes the response for one entry. It is called for every entry of a folder. */
function entryResponder(wanted: WantedProperties): EntryResponder {
  if (wanted.kind === 'names') return (href, source, dead) => propertyResponse(href, [namesOf(source, dead)])
  const isSome = wanted.kind === 'some'
  const planned = (isSome ? wanted.names : [...new Set([...namesOfAll, ...wanted.include])]).map(plan)
  return (href, source, dead) => {
    let found = ''
    let missing = ''
    for (const { name, read, write, missingElement } of planned) {
      const value = read(source)
      const xml = value === null ? (isSome ? deadXml(dead, name) : '') : write(value)
      found += xml
      if (isSome && xml === '') missing += missingElement
    }
    if (!isSome) for (const { xml } of dead) found += xml
    const propstats: Propstat[] = []
    if (found !== '' || missing === '') propstats.push({ status: 200, properties: found })
    if (missing !== '') propstats.push({ status: 404, properties: missing })
    return propertyResponse(href, propstats)
  }
}

interface PlannedProperty {
  name: PropertyName
  read(source: PropertySource): string | null
  write(value: string): string
  missingElement: string
}

function plan(name: PropertyName): PlannedProperty {
  const live = liveProperties.get(name)
  const missingElement = propertyElement(name, '')
  const [start = '', end = ''] = propertyElement(name, '\n').split('\n')
  return {
    name,
    read: source => live?.value(source) ?? null,
    write: value => (value === '' ? missingElement : start + value + end),
    missingElement,
  }
}

function deadXml(dead: readonly EntryProperty[], name: PropertyName): string {
  return dead.find(property => property.name === name)?.xml ?? ''
}

function namesOf(source: PropertySource, dead: readonly EntryProperty[]): Propstat {
  const live = [...liveProperties].filter(([, property]) => property.value(source) !== null).map(([name]) => name)
  const names = [...live, ...dead.map(({ name }) => name)]
  return { status: 200, properties: names.map(name => propertyElement(name, '')).join('') }
}

/** The facts that a PROPFIND request loads once for all entries of its response. */
interface PropfindFacts {
  properties: PropertyReader
  sourceOf(entry: FileEntry): PropertySource
}

/** Loads only what is wanted. */
async function loadFacts(dav: DavRequest, entry: FileEntry, wanted: WantedProperties): Promise<PropfindFacts> {
  const { viewer, target, options } = dav
  const { providers, entryProperties } = options.services
  const names = wanted.kind === 'some' ? wanted.names : wanted.kind === 'all' ? wanted.include : []
  const wantsDead = wanted.kind !== 'some' || names.some(name => !liveProperties.has(name))
  const wantsQuota = names.some(name => quotaProperties.includes(name))
  const [record, locksOf, properties] = await Promise.all([
    wantsQuota || entry.path === root ? providers.get(viewer, target.providerId) : null,
    wanted.kind === 'all' || names.includes(lockDiscovery) ? findLocks(dav, entry) : () => [],
    wantsDead ? entryProperties.reader(viewer, target) : noProperties,
  ])
  const space = wantsQuota && record ? await findSpace(dav, record) : null
  return {
    properties,
    sourceOf: each => ({
      entry: each,
      displayName: each.path === root ? (record?.name ?? '') : each.name,
      viewer,
      locks: locksOf(each.path),
      hrefOf: lock => hrefOf(options, { slug: target.slug, path: formatPath(lock.path) }, false),
      quota: each.kind === 'directory' ? space : null,
    }),
  }
}

/** Returns the space at the target that a quota of the server leaves, or else the space that the back end reports: RFC 4331. */
async function findSpace({ viewer, target, options, signal }: DavRequest, record: ProviderRecord) {
  const { providers, quotas } = options.services
  const space = await quotas.spaceAt(viewer, target)
  if (space) return space
  const quota = await providers.quota(viewer, record, signal)
  const used = quota?.used ?? null
  return { used, available: quota?.total == null || used === null ? null : Math.max(0, quota.total - used) }
}

/** Returns a function that finds the locks that hold for an entry, which is the target or directly in it. */
async function findLocks(
  { viewer, target, options }: DavRequest,
  entry: FileEntry,
): Promise<(path: StoragePath) => EntryLock[]> {
  const { entryLocks } = options.services
  const [covering, within] = await Promise.all([entryLocks.covering(viewer, target), entryLocks.within(viewer, target)])
  const deep = covering.filter(({ isDeep }) => isDeep)
  const byPath = Map.groupBy(within, ({ path }) => path)
  return path => {
    if (path === entry.path) return covering
    const own = byPath.get(path)
    return own ? [...deep, ...own] : deep
  }
}
