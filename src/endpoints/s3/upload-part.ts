import { continueOnRead } from '../../http/connection/expect-continue.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { formatTag } from '../../http/content/validators.ts'
import { isEndedUpload } from '../../services/uploads/multipart/index.ts'
import { objectBody } from './body.ts'
import { requireSource } from './copy-conditions.ts'
import { parseCopyRange, parseCopySource } from './copy-source.ts'
import { S3Error } from './failure.ts'
import { explainBucket } from './no-such-bucket.ts'
import type { ObjectCall, S3Operation } from './operation.ts'
import { sendXml } from './send.ts'
import { explainUpload } from './upload-errors.ts'
import { partNumber, uploadOf } from './upload-name.ts'
import { element, result } from './xml.ts'

/** Stores a part from the body or, with `x-amz-copy-source`, from another object. */
export const uploadPart: S3Operation<ObjectCall> = {
  method: 'PUT',
  selects: ['partNumber', 'uploadId'],
  run(call) {
    const { request } = call
    const isCopy = request.headers['x-amz-copy-source'] !== undefined
    return asTransfer(request.server, isCopy ? copyPart(call) : storePart(call))
  },
}

async function storePart(call: ObjectCall): Promise<unknown> {
  const { services, request, reply, signal } = call
  const number = partNumber(call)
  const { checksum, ...part } = await objectBody(request)
  continueOnRead(request.raw, reply)
  const md5 = await services.multipart
    .put(request.viewer, uploadOf(call), number, part, signal)
    .catch(error => explainUpload(error, call.providerId))
  return reply.headers({ ETag: formatTag(md5), ...checksum() }).send()
}

async function copyPart(call: ObjectCall): Promise<unknown> {
  const { services, request, reply, signal } = call
  const number = partNumber(call)
  const from = parseCopySource(request.headers)
  if (!from) throw new S3Error('InvalidArgument', 'x-amz-copy-source is missing.')
  const range = parseCopyRange(request.headers)
  const providerId = await services.providers.idOf(request.viewer, from.bucket)
  const source = { providerId, path: from.path }
  request.refusedAction = 'PART_COPY'
  request.named = { location: source, to: { providerId: call.providerId, path: call.path } }
  await requireSource(call, source)
  const md5 = await services.multipart
    .copy(request.viewer, uploadOf(call), number, { ...source, range }, signal)
    .catch(error =>
      isEndedUpload(error) ? explainUpload(error, call.providerId) : Promise.reject(explainBucket(error, providerId)),
    )
  return sendXml(
    reply,
    result('CopyPartResult', [element('LastModified', new Date().toISOString()), element('ETag', formatTag(md5))]),
  )
}
