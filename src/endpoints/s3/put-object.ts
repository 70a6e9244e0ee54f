import { awaitsContinue, continueOnRead } from '../../http/connection/expect-continue.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { parseMimeType } from '../../http/content/body-headers.ts'
import { settleConditional } from '../../http/content/upload-conditions.ts'
import { formatTag } from '../../http/content/validators.ts'
import { objectBody } from './body.ts'
import { copyObject } from './copy-object.ts'
import { parseCopySource } from './copy-source.ts'
import { S3Error } from './failure.ts'
import { makeFolder } from './folders.ts'
import { parseModifiedAt, requireStorable } from './metadata.ts'
import type { ObjectCall, S3Operation } from './operation.ts'
import { parseConditions } from './put-conditions.ts'
import { emptyTag, listedTag } from './tags.ts'

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
  const storing = services.files.upload(viewer, { ...input, ...conditions }, signal)
  const stored = await settleConditional(storing, isConditional)
  return reply.headers({ ETag: formatTag(listedTag(stored)), ...checksum() }).send()
}
