/** Lists the objects of a bucket. The parameters that all lists take are here, too. */
import type { Viewer } from '../../auth/viewer.ts'
import type { KeyPage, KeyQuery } from '../../services/files/index.ts'
import { emptyTag, listedTag } from './conditions.ts'
import { S3Error } from './errors.ts'
import type { BucketCall, S3Operation } from './operation.ts'
import type { S3Address } from './request.ts'
import { encodeKey } from './signature.ts'
import { element, result, sendXml, type Xml } from './xml.ts'

/** The parameters of both versions. */
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

/** Returns the owner without a name, because a presigned URL may show the list to anyone. */
export function ownerOf(viewer: Viewer | null): Xml[] {
  return viewer ? [element('Owner', [element('ID', viewer.member.userId)])] : []
}

const maxItems = 1000

/** Returns the number of items of a page, 0 to 1,000. @throws S3Error */
export function parseLimit(query: S3Address['query'], name: string): number {
  const text = query.get(name) ?? String(maxItems)
  if (/^\d{1,10}$/.test(text)) return Math.min(Number(text), maxItems)
  throw new S3Error('InvalidArgument', `"${name}" is a number from 0 to 2147483647.`)
}

/** @throws S3Error */
export function parseDelimiter(query: S3Address['query']): '' | '/' {
  const delimiter = query.get('delimiter') ?? ''
  if (delimiter === '' || delimiter === '/') return delimiter
  throw new S3Error('NotImplemented', 'The only delimiter of this server is "/".')
}

/** Returns the function that encodes keys in the response. @throws S3Error */
export function encoderOf(query: S3Address['query']): (key: string) => string {
  const encoding = query.get('encoding-type')
  if (encoding === undefined) return key => key
  if (encoding === 'url') return encodeKey
  throw new S3Error('InvalidArgument', '"encoding-type" can only be "url".')
}
