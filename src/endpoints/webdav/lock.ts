/** LOCK and UNLOCK (RFC 4918, sections 9.10 and 9.11), and the XML of locks (sections 14.1, 14.6 and 14.11). */
import { Readable } from 'node:stream'
import { formatPath } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import { childNamed, elementsOf, escapeXml, parseXml, xmlDeclaration } from '../../http/xml.ts'
import type { EntryLock, NewLock } from '../../services/entry-metadata/locks.ts'
import { davError, xmlType } from './errors.ts'
import { formatToken, parseDepth, parseLockToken, parseTimeout } from './headers.ts'
import { davNamespace, serialize } from './multistatus.ts'
import { entryOrNull, failLocked, requireParent, requirePreconditions, submittedTokens } from './preconditions.ts'
import { bodyOf, type DavRequest, hrefOf } from './request.ts'

export async function lock(dav: DavRequest): Promise<void> {
  const { request, reply, viewer, target, options } = dav
  const body = bodyOf(request)
  if (body.length === 0) {
    sendLock(dav, await refresh(dav))
    return
  }
  const isDeep = parseDepth(request.headers, ['infinity', '0'], 'infinity') === 'infinity'
  const info = await parseLockInfo(body)
  const existing = await entryOrNull(dav, target)
  await requirePreconditions(dav, existing ? [] : [{ location: target, isTree: false, isMember: true }])
  if (!existing) await requireParent(dav, target)
  const created = await options.services.entryLocks
    .create(viewer, target, { ...info, isDeep, timeout: parseTimeout(request.headers) })
    .catch(error => failLocked(error, dav, target, 'no-conflicting-lock'))
  if (!existing) await createEmptyFile(dav, created)
  reply.status(existing ? 200 : 201).header('Lock-Token', `<${formatToken(created.token)}>`)
  sendLock(dav, created)
}

export async function unlock({ request, reply, viewer, target, options }: DavRequest): Promise<void> {
  const token = parseLockToken(request.headers)
  await options.services.entryLocks.release(viewer, target, token).catch(error => {
    if (!(error instanceof AppError)) throw error
    if (error.reason === 'LOCKED') throw davError(403, 'LOCKED', error.message, { cause: error })
    if (error.reason !== 'INVALID_INPUT') throw error
    const precondition = '<D:lock-token-matches-request-uri/>'
    throw davError(409, 'INVALID_INPUT', error.message, { precondition, cause: error })
  })
  reply.status(204).send()
}

/** A lock of a name that is free creates an empty file: section 7.3. */
async function createEmptyFile({ viewer, target, options, signal }: DavRequest, created: EntryLock): Promise<void> {
  const { files, entryLocks } = options.services
  const body = Readable.from([], { objectMode: false })
  await files.upload(viewer, { ...target, conflict: 'FAIL', body, size: 0 }, signal).catch(async error => {
    await entryLocks.release(viewer, target, created.token)
    throw error
  })
}

/** The token comes in the If header: section 9.10.2. */
async function refresh(dav: DavRequest): Promise<EntryLock> {
  const { request, viewer, target, options } = dav
  const [token] = submittedTokens(dav)
  if (token === undefined) {
    throw new AppError('INVALID_INPUT', 'LOCK needs a "lockinfo" element, or an If header with the lock to refresh.')
  }
  return options.services.entryLocks
    .refresh(viewer, target, { token, timeout: parseTimeout(request.headers) })
    .catch(error => {
      if (!(error instanceof AppError) || error.reason !== 'INVALID_INPUT') throw error
      const precondition = '<D:lock-token-matches-request-uri/>'
      throw davError(412, 'PRECONDITION_FAILED', error.message, { precondition, cause: error })
    })
}

function sendLock({ reply, options, target }: DavRequest, held: EntryLock): void {
  const href = hrefOf(options, { slug: target.slug, path: formatPath(held.path) }, false)
  const xml = `<D:prop xmlns:D="DAV:"><D:lockdiscovery>${activeLock(held, href)}</D:lockdiscovery></D:prop>\n`
  reply.header('Content-Type', xmlType).send(xmlDeclaration + xml)
}

/** Bytes of XML, which is repeated for each entry of a locked folder. Clients send a name or an address. */
const maxOwner = 1024
const maxElements = 200

const entryOf = (scope: string) =>
  `<D:lockentry><D:lockscope><D:${scope}/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>`
export const supportedLock = entryOf('exclusive') + entryOf('shared')

export function activeLock(lock: EntryLock, href: string): string {
  const seconds = Math.max(0, Math.ceil((lock.expiresAt.getTime() - Date.now()) / 1000))
  const scope = lock.isExclusive ? 'exclusive' : 'shared'
  return `<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:${scope}/></D:lockscope><D:depth>${lock.isDeep ? 'infinity' : '0'}</D:depth>${lock.owner}<D:timeout>Second-${seconds}</D:timeout><D:locktoken><D:href>${formatToken(lock.token)}</D:href></D:locktoken><D:lockroot><D:href>${escapeXml(href)}</D:href></D:lockroot></D:activelock>`
}

/** Parses the body of a LOCK request. @throws INVALID_INPUT, TOO_LARGE */
async function parseLockInfo(body: Uint8Array): Promise<Pick<NewLock, 'isExclusive' | 'owner'>> {
  const root = await parseXml(body, maxElements)
  const child = (name: string) => childNamed(root, davNamespace, name)
  const named = (parent: string) => elementsOf(child(parent) ?? root).map(({ name }) => name)
  const scope = named('lockscope')
  if (root.namespace !== davNamespace || root.name !== 'lockinfo' || !named('locktype').includes('write')) {
    throw new AppError('INVALID_INPUT', 'The body must be a "lockinfo" element for a write lock.')
  }
  const owner = child('owner')
  const xml = owner ? serialize(owner, maxOwner) : ''
  if (xml === null) throw new AppError('TOO_LARGE', `The owner of a lock can have at most ${maxOwner} bytes.`)
  return { isExclusive: !scope.includes('shared'), owner: xml }
}
