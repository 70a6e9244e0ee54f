import { AppError } from '../errors.ts'
import { isNotModified } from '../http/content/download-conditions.ts'
import type { LocationInput } from '../services/files/index.ts'
import type { ObjectName } from './copy-source.ts'
import { S3Error } from './failure.ts'
import { makeFolder } from './folders.ts'
import { explainBucket } from './no-such-bucket.ts'
import type { ObjectCall } from './operation.ts'
import { sendXml } from './send.ts'
import { emptyTag, listedTag, tagOf } from './tags.ts'
import { element, result, type Xml } from './xml.ts'

const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'] as const

/** Copies an object within the server. The copy keeps the type and, where the back end can store it, the time. */
export async function copyObject(call: ObjectCall, { bucket, ...object }: ObjectName): Promise<unknown> {
  const { services, request, reply, providerId, path: toPath, isFolder, signal } = call
  const source = { providerId: await services.providers.idOf(request.viewer, bucket), ...object }
  if (isFolder !== source.isFolder) {
    throw new S3Error('InvalidRequest', 'A folder, whose key ends in "/", can be copied only to such a key.')
  }
  if (isFolder) return copyFolder(call, source)
  const isSame = source.providerId === providerId && source.path === toPath
  await requireConditions(call, source).catch(error => Promise.reject(explainBucket(error, source.providerId)))
  const from = { providerId: source.providerId, path: source.path }
  const input = { ...from, toProviderId: providerId, toPath, conflict: 'REPLACE' as const, only: 'file' as const }
  const copy = await services.files
    .copy(request.viewer, input, signal)
    .catch(error => Promise.reject(explain(explainBucket(error, source.providerId), isSame)))
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

/** Evaluates the conditions on the source. @throws PRECONDITION_FAILED, as `Files.stat` */
async function requireConditions({ services, request, signal }: ObjectCall, source: LocationInput): Promise<void> {
  const headers = Object.fromEntries(
    conditions.flatMap(name => {
      const value = request.headers[`x-amz-copy-source-${name}`]
      return value === undefined ? [] : [[name, String(value)]]
    }),
  )
  if (Object.keys(headers).length === 0) return
  const { etag, modifiedAt } = await services.files.stat(request.viewer, source, signal)
  if (isNotModified(headers, { etag: etag === null ? null : tagOf(etag), modifiedAt })) {
    throw new AppError('PRECONDITION_FAILED', 'The source is the version that the request excludes.')
  }
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
