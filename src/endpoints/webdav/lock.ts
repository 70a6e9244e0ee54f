/** LOCK and UNLOCK: RFC 4918, sections 9.10 and 9.11. */
import { Readable } from 'node:stream'
import { formatPath } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import { xmlDeclaration } from '../../http/xml/write.ts'
import type { WebdavLock } from '../../services/webdav/locks.ts'
import { bodyOf, type DavRequest, hrefOf } from './dav-request.ts'
import { davError, xmlType } from './errors.ts'
import { formatToken, parseDepth, parseLockToken, parseTimeout, parseToken } from './headers.ts'
import { activeLock, parseLockInfo } from './lock-xml.ts'
import { entryOrNull, requireParent } from './parent.ts'
import { failLocked, ifLists, requirePreconditions } from './preconditions.ts'

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
  const created = await options.services.webdavLocks
    .create(viewer, target, { ...info, isDeep, timeout: parseTimeout(request.headers) })
    .catch(error => failLocked(error, dav, target, 'no-conflicting-lock'))
  if (!existing) await createEmptyFile(dav, created)
  reply.status(existing ? 200 : 201).header('Lock-Token', `<${formatToken(created.token)}>`)
  sendLock(dav, created)
}

export async function unlock({ request, reply, viewer, target, options }: DavRequest): Promise<void> {
  const token = parseLockToken(request.headers)
  await options.services.webdavLocks.release(viewer, target, token).catch(error => {
    if (!(error instanceof AppError)) throw error
    if (error.reason === 'LOCKED') throw davError(403, 'LOCKED', error.message, { cause: error })
    if (error.reason !== 'INVALID_INPUT') throw error
    const precondition = '<D:lock-token-matches-request-uri/>'
    throw davError(409, 'INVALID_INPUT', error.message, { precondition, cause: error })
  })
  reply.status(204).send()
}

/** A lock of a name that is free creates an empty file: section 7.3. */
async function createEmptyFile({ viewer, target, options, signal }: DavRequest, created: WebdavLock): Promise<void> {
  const { files, webdavLocks } = options.services
  const body = Readable.from([], { objectMode: false })
  await files.upload(viewer, { ...target, conflict: 'FAIL', body, size: 0 }, signal).catch(async error => {
    await webdavLocks.release(viewer, target, created.token)
    throw error
  })
}

/** The token comes in the If header: section 9.10.2. */
async function refresh(dav: DavRequest): Promise<WebdavLock> {
  const { request, viewer, target, options } = dav
  const tokens = ifLists(dav)
    .flatMap(({ conditions }) => conditions)
    .flatMap(({ kind, value }) => (kind === 'token' ? (parseToken(value) ?? []) : []))
  const [token] = tokens
  if (token === undefined) {
    throw new AppError('INVALID_INPUT', 'LOCK needs a "lockinfo" element, or an If header with the lock to refresh.')
  }
  return options.services.webdavLocks
    .refresh(viewer, target, { token, timeout: parseTimeout(request.headers) })
    .catch(error => {
      if (!(error instanceof AppError) || error.reason !== 'INVALID_INPUT') throw error
      const precondition = '<D:lock-token-matches-request-uri/>'
      throw davError(412, 'PRECONDITION_FAILED', error.message, { precondition, cause: error })
    })
}

function sendLock({ reply, options, target }: DavRequest, held: WebdavLock): void {
  const href = hrefOf(options, { slug: target.slug, path: formatPath(held.path) }, false)
  const xml = `<D:prop xmlns:D="DAV:"><D:lockdiscovery>${activeLock(held, href)}</D:lockdiscovery></D:prop>\n`
  reply.header('Content-Type', xmlType).send(xmlDeclaration + xml)
}
