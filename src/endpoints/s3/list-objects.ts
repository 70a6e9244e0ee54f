import type { KeyPage, KeyQuery } from '../../services/files/index.ts'
import { S3Error } from './failure.ts'
import { encoderOf, parseDelimiter, parseLimit } from './list-parameters.ts'
import type { BucketCall, S3Operation } from './operation.ts'
import { ownerOf } from './owner.ts'
import { sendXml } from './send.ts'
import { emptyTag, listedTag } from './tags.ts'
import { element, result, type Xml } from './xml.ts'

const common = ['prefix', 'delimiter', 'max-keys', 'encoding-type']

export const listObjectsV2: S3Operation<BucketCall> = {
  method: 'GET',
  selects: ['list-type'],
  takes: [...common, 'continuation-token', 'start-after', 'fetch-owner'],
  async run(call) {
    const { query, bucket } = call
    if (query.get('list-type') !== '2') throw new S3Error('InvalidArgument', '"list-type" can only be 2.')
    const token = query.get('continuation-token')
    const startAfter = query.get('start-after') ?? ''
    const list = parseList(call, token ? decodeToken(token) : startAfter)
    const { page, encode } = await readPage(call, list)
    const owner = query.get('fetch-owner') === 'true' ? ownerOf(call.request.viewer) : []
    return sendXml(
      call.reply,
      result('ListBucketResult', [
        element('Name', bucket),
        ...about(call, list, encode),
        element('KeyCount', page.objects.length + page.groups.length),
        ...(token === undefined ? [] : [element('ContinuationToken', token)]),
        ...(startAfter === '' ? [] : [element('StartAfter', encode(startAfter))]),
        element('IsTruncated', page.next !== null),
        ...(page.next === null ? [] : [element('NextContinuationToken', encodeToken(page.next))]),
        ...items(page, encode, owner),
      ]),
    )
  },
}

export const listObjectsV1: S3Operation<BucketCall> = {
  method: 'GET',
  takes: [...common, 'marker'],
  async run(call) {
    const { query, bucket } = call
    const marker = query.get('marker') ?? ''
    const list = parseList(call, marker)
    const { page, encode } = await readPage(call, list)
    const next = list.groups && page.next !== null ? [element('NextMarker', encode(page.next))] : []
    return sendXml(
      call.reply,
      result('ListBucketResult', [
        element('Name', bucket),
        ...about(call, list, encode),
        element('Marker', encode(marker)),
        element('IsTruncated', page.next !== null),
        ...next,
        ...items(page, encode, ownerOf(call.request.viewer)),
      ]),
    )
  },
}

function parseList({ query, providerId }: BucketCall, after: string): KeyQuery {
  const groups = parseDelimiter(query) === '/'
  return { providerId, prefix: query.get('prefix') ?? '', after, groups, limit: parseLimit(query, 'max-keys') }
}

async function readPage({ services, request, query, signal }: BucketCall, list: KeyQuery) {
  const encode = encoderOf(query)
  return { page: await services.files.listKeys(request.viewer, list, signal), encode }
}

type Encode = (key: string) => string

function about({ query }: BucketCall, { prefix, groups, limit }: KeyQuery, encode: Encode): Xml[] {
  return [
    element('Prefix', encode(prefix)),
    element('MaxKeys', limit),
    ...(groups ? [element('Delimiter', encode('/'))] : []),
    ...(query.has('encoding-type') ? [element('EncodingType', 'url')] : []),
  ]
}

function items({ objects, groups }: KeyPage, encode: Encode, owner: readonly Xml[]): Xml[] {
  return [
    ...objects.map(({ key, entry }) =>
      element('Contents', [
        element('Key', encode(key)),
        element('LastModified', (entry?.modifiedAt ?? new Date(0)).toISOString()),
        element('ETag', `"${entry ? listedTag(entry) : emptyTag}"`),
        element('Size', entry?.size ?? 0),
        ...owner,
        element('StorageClass', 'STANDARD'),
      ]),
    ),
    ...groups.map(prefix => element('CommonPrefixes', [element('Prefix', encode(prefix))])),
  ]
}

/** A token is the last key, in a form that differs from a key. */
function encodeToken(key: string): string {
  return Buffer.from(`/${key}`).toString('base64url')
}

/** @throws S3Error */
function decodeToken(token: string): string {
  const key = Buffer.from(token, 'base64url').toString('utf8')
  if (key.startsWith('/') && Buffer.from(key).toString('base64url') === token) return key.slice(1)
  throw new S3Error('InvalidArgument', 'The continuation token is not from this server.')
}
