/** Stores an object: from the body of the request, or as a copy of another object. */
import { AppError } from '../../errors.ts'
import { awaitsContinue, continueOnRead } from '../../http/connection/body-bounds.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { parseMimeType, settleConditional } from '../../http/content/body-headers.ts'
import { formatTag } from '../../http/content/conditions.ts'
import type { FileEntry, LocationInput } from '../../services/files/index.ts'
import { objectBody } from './body.ts'
import { emptyTag, listedTag, parseConditions, requireSource } from './conditions.ts'
import { explainBucket, S3Error } from './errors.ts'
import { parseVersion, versionHeader } from './list-versions.ts'
import { parseModifiedAt, requireStorable } from './metadata.ts'
import { parseLock, requireMayLock } from './object-lock.ts'
import type { ObjectCall, S3Operation } from './operation.ts'
import { type CopySource, parseCopySource } from './request.ts'
import { element, result, sendXml, type Xml } from './xml.ts'

/** Stores an object from the body or, with `x-amz-copy-source`, from another object. */
export const putObject: S3Operation<ObjectCall> = {
  method: 'PUT',
  run(call) {
    const { request } = call
    const source = parseCopySource(request.headers)
    requireStorable(request.headers)
    return asTransfer(request.server, source ? copyObject(call, source) : storeObject(call))
  },
}

async function storeObject(call: ObjectCall): Promise<unknown> {
  const { services, request, reply, providerId, path, isFolder, signal } = call
  const { headers, raw, viewer } = request
  const modifiedAt = parseModifiedAt(headers)
  const lock = parseLock(headers)
  await requireMayLock(call, lock)
  const { body, size, digests, checksum } = await objectBody(request)
  continueOnRead(raw, reply)
  if (isFolder) {
    if (size !== 0) throw new S3Error('InvalidArgument', 'A key that ends in "/" is a folder, which has no content.')
    await makeFolder(call)
    return reply.header('ETag', formatTag(emptyTag)).send()
  }
  const { isConditional, ...conditions } = parseConditions(headers)
  const mimeType = parseMimeType(headers['content-type'])
  const input = { providerId, path, body, size, digests, mimeType, modifiedAt, isAwaiting: awaitsContinue(raw) }
  const storing = () => services.files.upload(viewer, { ...input, ...conditions, overLocked: true }, signal)
  const store = () => settleConditional(storing(), isConditional)
  const stored = await services.objectLocks.storing(viewer, { providerId, path }, lock, store, { signal })
  return reply.headers({ ETag: formatTag(listedTag(stored)), ...versionHeader(stored), ...checksum() }).send()
}

/** Creates a folder, unless it exists. */
async function makeFolder({ services, request, providerId, path, signal }: ObjectCall): Promise<void> {
  const at = { providerId, path }
  await services.files.createFolder(request.viewer, at, signal).catch(async error => {
    const isTaken = error instanceof AppError && error.reason === 'ALREADY_EXISTS'
    const existing: FileEntry | null = isTaken ? await services.files.stat(request.viewer, at, signal) : null
    if (existing?.kind !== 'directory') throw error
  })
}

/** Copies an object within the server. The copy keeps the type and, where the back end can store it, the time. */
async function copyObject(call: ObjectCall, { bucket, version: named, ...object }: CopySource): Promise<unknown> {
  const { services, request, reply, providerId, path: toPath, isFolder, signal } = call
  const source = { providerId: await services.providers.idOf(request.viewer, bucket), ...object }
  const from = { providerId: source.providerId, path: source.path }
  request.refusedAction = 'COPY'
  request.named = { location: from, to: { providerId, path: toPath } }
  if (isFolder !== source.isFolder) {
    throw new S3Error('InvalidRequest', 'A folder, whose key ends in "/", can be copied only to such a key.')
  }
  if (isFolder) return copyFolder(call, source)
  const version = parseVersion(named)
  const isSame = source.providerId === providerId && source.path === toPath
  await requireSource(call, source, version)
  const { conflict, condition, isConditional } = parseConditions(request.headers)
  if (condition) throw new S3Error('NotImplemented', 'The only condition on the copy is "If-None-Match: *".')
  const to = { toProviderId: providerId, toPath }
  const input = { ...from, ...to, conflict, only: 'file' as const, overLocked: true, version }
  const copying = () =>
    settleConditional(services.files.copy(request.viewer, input, signal), isConditional).catch(error =>
      Promise.reject(explain(explainBucket(error, source.providerId), isSame)),
    )
  const lock = parseLock(request.headers)
  await requireMayLock(call, lock)
  const copy = await services.objectLocks.storing(request.viewer, { providerId, path: toPath }, lock, copying, {
    signal,
  })
  reply.headers(versionHeader(copy))
  if (version !== undefined) reply.header('x-amz-copy-source-version-id', named)
  return sendXml(reply, copied(copy.modifiedAt ?? new Date(), listedTag(copy)))
}

function copied(modifiedAt: Date, tag: string): Xml {
  return result('CopyObjectResult', [element('LastModified', modifiedAt.toISOString()), element('ETag', `"${tag}"`)])
}

/** Creates the folder without the objects in it, which have keys of their own. */
async function copyFolder(call: ObjectCall, source: LocationInput): Promise<unknown> {
  const { services, request, reply, signal } = call
  const { kind } = await services.files.stat(request.viewer, source, signal)
  if (kind !== 'directory') throw new S3Error('NoSuchKey', 'There is no object with the key of the source.')
  await makeFolder(call)
  return sendXml(reply, copied(new Date(), emptyTag))
}

function explain(error: unknown, isSame: boolean): unknown {
  if (!(error instanceof AppError)) return error
  if (error.reason === 'NOT_A_FILE') {
    return new S3Error('NoSuchKey', 'There is no object with the key of the source.', error)
  }
  if (!isSame || error.reason !== 'ALREADY_EXISTS') return error
  return new S3Error(
    'InvalidRequest',
    'An object cannot be copied to itself: the storage keeps no metadata that this could change.',
    error,
  )
}
