/** Lists of multipart uploads and of their parts. */
import { compareNames } from '../../services/files/list.ts'
import type { UploadRecord } from '../../services/uploads/index.ts'
import { explainUpload, S3Error } from './errors.ts'
import { encoderOf, parseDelimiter, parseLimit } from './list-objects.ts'
import type { BucketCall, ObjectCall, S3Operation } from './operation.ts'
import { element, result, sendXml, type Xml } from './xml.ts'

export const listParts: S3Operation<ObjectCall> = {
  method: 'GET',
  selects: ['uploadId'],
  takes: ['max-parts', 'part-number-marker', 'encoding-type'],
  async run({ services, request, reply, bucket, key, providerId, path, query }) {
    const uploadId = query.get('uploadId') ?? ''
    const after = Number(query.get('part-number-marker') ?? 0)
    if (!Number.isSafeInteger(after)) throw new S3Error('InvalidArgument', '"part-number-marker" is a number.')
    const limit = parseLimit(query, 'max-parts')
    const encode = encoderOf(query)
    const name = { providerId, path, uploadId }
    const { parts, hasMore } = await services.multipart
      .parts(request.viewer, name, { after, limit })
      .catch(error => explainUpload(error, providerId))
    const next = hasMore ? [element('NextPartNumberMarker', parts.at(-1)?.number ?? after)] : []
    return sendXml(
      reply,
      result('ListPartsResult', [
        element('Bucket', bucket),
        element('Key', encode(key)),
        element('UploadId', uploadId),
        element('PartNumberMarker', after),
        ...next,
        element('MaxParts', limit),
        element('IsTruncated', hasMore),
        ...parts.map(({ number, size, md5, storedAt }) =>
          element('Part', [
            element('PartNumber', number),
            element('LastModified', storedAt.toISOString()),
            element('ETag', `"${md5.toString('hex')}"`),
            element('Size', size),
          ]),
        ),
      ]),
    )
  },
}

/** Lists the uploads of this access key, because nobody else can continue them. */
export const listMultipartUploads: S3Operation<BucketCall> = {
  method: 'GET',
  selects: ['uploads'],
  takes: ['prefix', 'delimiter', 'max-uploads', 'key-marker', 'upload-id-marker', 'encoding-type'],
  async run({ services, request, reply, bucket, providerId, query }) {
    const [prefix, marker] = [query.get('prefix') ?? '', query.get('key-marker') ?? '']
    const idMarker = query.get('upload-id-marker') ?? ''
    const delimiter = parseDelimiter(query)
    const limit = parseLimit(query, 'max-uploads')
    const encode = encoderOf(query)
    const isAfter = ({ path, id }: UploadRecord) => {
      const order = compareNames(path, marker)
      return marker === '' || order > 0 || (order === 0 && idMarker !== '' && id > idMarker)
    }
    await services.providers.get(request.viewer, providerId)
    const all = (await services.multipart.list(request.viewer, providerId))
      .filter(upload => upload.path.startsWith(prefix) && isAfter(upload))
      .toSorted((a, b) => compareNames(a.path, b.path) || (a.id < b.id ? -1 : 1))
    const groupOf = ({ path }: UploadRecord): string | null => {
      const end = delimiter === '' ? -1 : path.indexOf(delimiter, prefix.length)
      return end < 0 ? null : path.slice(0, end + 1)
    }
    const groups = new Set(all.map(groupOf).filter(group => group !== null))
    const single = all.filter(upload => groupOf(upload) === null)
    const shown = single.slice(0, limit)
    const last = shown.at(-1)
    const isTruncated = single.length > shown.length
    const next =
      isTruncated && last ? [element('NextKeyMarker', encode(last.path)), element('NextUploadIdMarker', last.id)] : []
    return sendXml(
      reply,
      result('ListMultipartUploadsResult', [
        element('Bucket', bucket),
        element('KeyMarker', encode(marker)),
        element('UploadIdMarker', idMarker),
        ...next,
        element('Prefix', encode(prefix)),
        ...(delimiter === '' ? [] : [element('Delimiter', delimiter)]),
        element('MaxUploads', limit),
        element('IsTruncated', isTruncated),
        ...shown.map(upload => uploadOf(upload, encode)),
        ...[...groups].map(group => element('CommonPrefixes', [element('Prefix', encode(group))])),
      ]),
    )
  },
}

function uploadOf({ id, path, createdAt }: UploadRecord, encode: (key: string) => string): Xml {
  return element('Upload', [
    element('Key', encode(path)),
    element('UploadId', id),
    element('Initiated', createdAt.toISOString()),
    element('StorageClass', 'STANDARD'),
  ])
}
