import { AppError } from '../../errors.ts'
import { settleConditional } from '../../http/content/upload-conditions.ts'
import type { LocationInput } from '../../services/files/index.ts'
import { requireSource } from './copy-conditions.ts'
import type { ObjectName } from './copy-source.ts'
import { S3Error } from './failure.ts'
import { makeFolder } from './folders.ts'
import { explainBucket } from './no-such-bucket.ts'
import type { ObjectCall } from './operation.ts'
import { parseConditions } from './put-conditions.ts'
import { sendXml } from './send.ts'
import { emptyTag, listedTag } from './tags.ts'
import { element, result, type Xml } from './xml.ts'

/** Copies an object within the server. The copy keeps the type and, where the back end can store it, the time. */
export async function copyObject(call: ObjectCall, { bucket, ...object }: ObjectName): Promise<unknown> {
  const { services, request, reply, providerId, path: toPath, isFolder, signal } = call
  const source = { providerId: await services.providers.idOf(request.viewer, bucket), ...object }
  const from = { providerId: source.providerId, path: source.path }
  request.refusedAction = 'COPY'
  request.named = { location: from, to: { providerId, path: toPath } }
  if (isFolder !== source.isFolder) {
    throw new S3Error('InvalidRequest', 'A folder, whose key ends in "/", can be copied only to such a key.')
  }
  if (isFolder) return copyFolder(call, source)
  const isSame = source.providerId === providerId && source.path === toPath
  await requireSource(call, source)
  const { conflict, condition, isConditional } = parseConditions(request.headers)
  if (condition) throw new S3Error('NotImplemented', 'The only condition on the copy is "If-None-Match: *".')
  const input = { ...from, toProviderId: providerId, toPath, conflict, only: 'file' as const }
  const copying = services.files.copy(request.viewer, input, signal)
  const copy = await settleConditional(copying, isConditional).catch(error =>
    Promise.reject(explain(explainBucket(error, source.providerId), isSame)),
  )
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
