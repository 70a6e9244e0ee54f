/** Operations on multipart uploads. */
import { continueOnRead } from '../http/connection/expect-continue.ts'
import { asTransfer } from '../http/connection/graceful-close.ts'
import { parseMimeType } from '../http/content/body-headers.ts'
import { settleConditional } from '../http/content/upload-conditions.ts'
import { formatTag } from '../http/content/validators.ts'
import { elementsOf, textOf, type XmlElement } from '../http/xml/parse.ts'
import { maxParts, type UploadName } from '../services/uploads/multipart/index.ts'
import { objectBody } from './body.ts'
import { parseCopyRange, parseCopySource } from './copy-source.ts'
import { S3Error } from './failure.ts'
import { parseModifiedAt, requireStorable } from './metadata.ts'
import { explainBucket } from './no-such-bucket.ts'
import type { ObjectCall, S3Operation } from './operation.ts'
import { parseConditions } from './put-object.ts'
import { sendXml } from './send.ts'
import { listedTag } from './tags.ts'
import { explainUpload } from './upload-errors.ts'
import { element, result } from './xml.ts'
import { xmlBody } from './xml-body.ts'

const partNumberPattern = /^[1-9]\d{0,4}$/
const md5Pattern = /^"?([0-9a-f]{32})"?$/

export const createMultipartUpload: S3Operation<ObjectCall> = {
  method: 'POST',
  audit: 'UPLOAD',
  selects: ['uploads'],
  async run({ services, request, reply, bucket, key, providerId, path, isFolder, signal }) {
    requireStorable(request.headers)
    const modifiedAt = parseModifiedAt(request.headers) ?? null
    if (isFolder) throw new S3Error('InvalidArgument', 'A key that ends in "/" is a folder, which has no content.')
    const mimeType = parseMimeType(request.headers['content-type']) ?? null
    const uploadId = await services.multipart.create(request.viewer, { providerId, path, mimeType, modifiedAt }, signal)
    return sendXml(
      reply,
      result('InitiateMultipartUploadResult', [
        element('Bucket', bucket),
        element('Key', key),
        element('UploadId', uploadId),
      ]),
    )
  },
}

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
    .put(request.viewer, nameOf(call), number, part, signal)
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
  const source = { providerId, path: from.path, range }
  const md5 = await services.multipart
    .copy(request.viewer, nameOf(call), number, source, signal)
    .catch(error => Promise.reject(explainBucket(error, providerId)))
  return sendXml(
    reply,
    result('CopyPartResult', [element('LastModified', new Date().toISOString()), element('ETag', formatTag(md5))]),
  )
}

export const completeMultipartUpload: S3Operation<ObjectCall> = {
  method: 'POST',
  audit: 'UPLOAD',
  selects: ['uploadId'],
  async run(call) {
    const { services, request, reply, bucket, key, signal } = call
    const parts = parseParts(await xmlBody(request, 'CompleteMultipartUpload'))
    const { isConditional, conflict, condition } = parseConditions(request.headers)
    const completing = services.multipart
      .complete(request.viewer, nameOf(call), parts, { conflict, condition }, signal)
      .catch(error => explainUpload(error, call.providerId))
    const stored = await asTransfer(request.server, settleConditional(completing, isConditional))
    return sendXml(
      reply,
      result('CompleteMultipartUploadResult', [
        element('Bucket', bucket),
        element('Key', key),
        element('ETag', formatTag(listedTag(stored))),
      ]),
    )
  },
}

export const abortMultipartUpload: S3Operation<ObjectCall> = {
  method: 'DELETE',
  audit: 'UPLOAD',
  selects: ['uploadId'],
  async run(call) {
    const { services, request, reply, signal } = call
    await asTransfer(
      request.server,
      services.multipart
        .abort(request.viewer, nameOf(call), signal)
        .catch(error => explainUpload(error, call.providerId)),
    )
    return reply.status(204).send()
  },
}

function nameOf({ providerId, path, query }: ObjectCall): UploadName {
  return { providerId, path, uploadId: query.get('uploadId') ?? '' }
}

/** @throws S3Error */
function partNumber({ query }: ObjectCall): number {
  const text = query.get('partNumber') ?? ''
  if (partNumberPattern.test(text) && Number(text) <= maxParts) return Number(text)
  throw new S3Error('InvalidArgument', `A part number is a number from 1 to ${maxParts}.`)
}

/** @throws S3Error */
function parseParts(root: XmlElement): { number: number; md5: string }[] {
  const parts = elementsOf(root)
    .filter(({ name }) => name === 'Part')
    .map(partOf)
  if (parts.length === 0 || parts.length > maxParts) {
    throw new S3Error('MalformedXML', `An upload has 1 to ${maxParts} parts.`)
  }
  const isOrdered = parts.every(({ number }, at) => at === 0 || (parts[at - 1]?.number ?? 0) < number)
  if (!isOrdered) throw new S3Error('InvalidPartOrder', 'List the parts in the order of their numbers, each once.')
  return parts
}

function partOf(part: XmlElement): { number: number; md5: string } {
  const textIn = (wanted: string) => {
    const found = elementsOf(part).find(({ name }) => name === wanted)
    return found ? textOf(found).trim() : ''
  }
  const number = textIn('PartNumber')
  const [, md5] = md5Pattern.exec(textIn('ETag')) ?? []
  if (!partNumberPattern.test(number)) throw new S3Error('MalformedXML', 'A <Part> has no valid <PartNumber>.')
  if (md5 === undefined) throw new S3Error('InvalidPart', `Part ${number} has no ETag that this server has sent.`)
  return { number: Number(number), md5 }
}
