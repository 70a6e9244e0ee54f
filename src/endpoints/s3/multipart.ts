/** Multipart uploads: an upload begins, receives parts in any order, and is completed or aborted. */
import { continueOnRead } from '../../http/connection/body-bounds.ts'
import { asTransfer } from '../../http/connection/graceful-close.ts'
import { parseMimeType, settleConditional } from '../../http/content/body-headers.ts'
import { formatTag } from '../../http/content/conditions.ts'
import { elementsOf, textOf, type XmlElement } from '../../http/xml.ts'
import { isEndedUpload, maxParts, type UploadName } from '../../services/uploads/multipart/index.ts'
import { objectBody, readXml } from './body.ts'
import { listedTag, parseConditions, requireSource } from './conditions.ts'
import { explainBucket, explainUpload, S3Error } from './errors.ts'
import { parseVersion, versionHeader } from './list-versions.ts'
import { parseModifiedAt, requireStorable } from './metadata.ts'
import { formatLock, parseLock, parseStoredLock, requireMayLock } from './object-lock.ts'
import type { ObjectCall, S3Operation } from './operation.ts'
import { type CopySource, parseCopyRange, parseCopySource } from './request.ts'
import { element, result, sendXml } from './xml.ts'

export const createMultipartUpload: S3Operation<ObjectCall> = {
  method: 'POST',
  audit: 'UPLOAD',
  selects: ['uploads'],
  authorize: requireMayUpload,
  async run(call) {
    const { services, request, reply, bucket, key, providerId, path, isFolder, signal } = call
    requireStorable(request.headers)
    const lock = parseLock(request.headers)
    await requireMayLock(call, lock)
    const modifiedAt = parseModifiedAt(request.headers) ?? null
    if (isFolder) throw new S3Error('InvalidArgument', 'A key that ends in "/" is a folder, which has no content.')
    const mimeType = parseMimeType(request.headers['content-type']) ?? null
    const metadata = lock ? formatLock(lock) : ''
    const upload = { providerId, path, mimeType, modifiedAt, metadata }
    const uploadId = await services.multipart.create(request.viewer, upload, signal)
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
    const source = parseCopySource(request.headers)
    return asTransfer(request.server, source ? copyPart(call, source) : storePart(call))
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

async function copyPart(call: ObjectCall, from: CopySource): Promise<unknown> {
  const { services, request, reply, signal } = call
  const number = partNumber(call)
  if (parseVersion(from.version) !== undefined) {
    throw new S3Error('NotImplemented', 'This server copies versions only as a whole, with CopyObject.')
  }
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

export const completeMultipartUpload: S3Operation<ObjectCall> = {
  method: 'POST',
  audit: 'UPLOAD',
  selects: ['uploadId'],
  authorize: requireMayUpload,
  async run(call) {
    const { services, request, reply, bucket, key, signal } = call
    const parts = await readParts(call)
    const { isConditional, conflict, condition } = parseConditions(request.headers)
    const completing = services.multipart
      .metadataOf(request.viewer, uploadOf(call))
      .then(({ metadata, isStored }) => {
        const complete = () =>
          services.multipart.complete(request.viewer, uploadOf(call), parts, { conflict, condition }, signal)
        const options = { signal, isRepeated: isStored }
        return services.objectLocks.storing(request.viewer, call, parseStoredLock(metadata), complete, options)
      })
      .catch(error => explainUpload(error, call.providerId))
    const stored = await asTransfer(request.server, settleConditional(completing, isConditional))
    reply.headers(versionHeader(stored))
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
        .abort(request.viewer, uploadOf(call), signal)
        .catch(error => explainUpload(error, call.providerId)),
    )
    return reply.status(204).send()
  },
}

function requireMayUpload({ services, request, providerId, path }: ObjectCall): void {
  services.files.requireMayUpload(request.viewer, { providerId, path })
}

function uploadOf({ providerId, path, query }: ObjectCall): UploadName {
  return { providerId, path, uploadId: query.get('uploadId') ?? '' }
}

const partNumberPattern = /^[1-9]\d{0,4}$/

/** @throws S3Error */
function partNumber({ query }: ObjectCall): number {
  const text = query.get('partNumber') ?? ''
  if (partNumberPattern.test(text) && Number(text) <= maxParts) return Number(text)
  throw new S3Error('InvalidArgument', `A part number is a number from 1 to ${maxParts}.`)
}

const md5Pattern = /^"?([0-9a-f]{32})"?$/
/** Replaces an ETag that is not an MD5 digest. It is different from the digest of every part. */
const unknownMd5 = 'unknown'

/** @throws S3Error */
async function readParts({ request }: ObjectCall): Promise<{ number: number; md5: string }[]> {
  const parts: { number: number; md5: string }[] = []
  await readXml(request, 'CompleteMultipartUpload', child => {
    if (child.name !== 'Part') return
    const part = partOf(child)
    if (part.number <= (parts.at(-1)?.number ?? 0)) {
      throw new S3Error('InvalidPartOrder', 'List the parts in the order of their numbers, each once.')
    }
    parts.push(part)
    if (parts.length > maxParts) throw wrongNumber()
  })
  if (parts.length === 0) throw wrongNumber()
  return parts
}

function wrongNumber(): S3Error {
  return new S3Error('MalformedXML', `An upload has 1 to ${maxParts} parts.`)
}

function partOf(part: XmlElement): { number: number; md5: string } {
  const textIn = (wanted: string) => {
    const found = elementsOf(part).find(({ name }) => name === wanted)
    return found ? textOf(found).trim() : ''
  }
  const number = textIn('PartNumber')
  const [, md5 = unknownMd5] = md5Pattern.exec(textIn('ETag')) ?? []
  if (!partNumberPattern.test(number)) throw new S3Error('MalformedXML', 'A <Part> has no valid <PartNumber>.')
  return { number: Number(number), md5 }
}
