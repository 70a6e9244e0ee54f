/** Lists the objects of a bucket with their versions. The version of an object as it is now is "null". */
import { isId } from '../../auth/id.ts'
import { afterCurrent, type KeyedVersion } from '../../services/versions/by-key.ts'
import { formatNativeId, nativeIdOf } from '../../services/versions/native.ts'
import { emptyTag, listedTag } from './conditions.ts'
import { S3Error } from './errors.ts'
import { encoderOf, ownerOf, parseDelimiter, parseLimit } from './list-objects.ts'
import type { BucketCall, S3Operation } from './operation.ts'
import { element, result, sendXml, type Xml } from './xml.ts'

const nullVersion = 'null'
/** Begins the id of a version that the back end keeps. The rest is its id there, in base64url. */
const nativeMark = 'native-'

export const listObjectVersions: S3Operation<BucketCall> = {
  method: 'GET',
  selects: ['versions'],
  takes: ['prefix', 'delimiter', 'max-keys', 'encoding-type', 'key-marker', 'version-id-marker'],
  async run({ services, request, reply, query, bucket, providerId, signal }) {
    const [after, marker] = [query.get('key-marker') ?? '', query.get('version-id-marker')]
    const [prefix, delimiter] = [query.get('prefix') ?? '', parseDelimiter(query)]
    const limit = parseLimit(query, 'max-keys')
    const encode = encoderOf(query)
    const list = { providerId, prefix, after, before: parseMarker(after, marker), groups: delimiter === '/', limit }
    const { items, hasNext } = await services.versions.listByKey(request.viewer, list, signal)
    const owner = ownerOf(request.viewer)
    const last = items.at(-1)
    return sendXml(
      reply,
      result('ListVersionsResult', [
        element('Name', bucket),
        element('Prefix', encode(prefix)),
        element('KeyMarker', encode(after)),
        element('VersionIdMarker', marker ?? ''),
        ...(hasNext && last ? nextMarkers(last, encode) : []),
        element('MaxKeys', limit),
        ...(delimiter === '' ? [] : [element('Delimiter', encode(delimiter))]),
        ...(query.has('encoding-type') ? [element('EncodingType', 'url')] : []),
        element('IsTruncated', hasNext),
        ...items.map(item => itemOf(item, encode, owner)),
      ]),
    )
  },
}

/** @throws S3Error */
function parseMarker(after: string, marker: string | undefined): string | null {
  if (marker === undefined || marker === '') return null
  if (after === '') throw new S3Error('InvalidArgument', '"version-id-marker" needs a "key-marker".')
  return parseVersion(marker) ?? afterCurrent
}

function nextMarkers(last: KeyedVersion, encode: (key: string) => string): Xml[] {
  const key = element('NextKeyMarker', encode(last.key))
  if (last.kind === 'group') return [key]
  return [key, element('NextVersionIdMarker', last.kind === 'earlier' ? formatVersion(last.version.id) : nullVersion)]
}

function itemOf(item: KeyedVersion, encode: (key: string) => string, owner: readonly Xml[]): Xml {
  const key = element('Key', encode(item.key))
  if (item.kind === 'group') return element('CommonPrefixes', [element('Prefix', encode(item.key))])
  if (item.kind === 'deleted') {
    const time = element('LastModified', item.version.replacedAt.toISOString())
    return element('DeleteMarker', [key, element('VersionId', nullVersion), element('IsLatest', true), time, ...owner])
  }
  const isLatest = item.kind === 'current'
  const content = isLatest ? item.entry : item.version
  return element('Version', [
    key,
    element('VersionId', isLatest ? nullVersion : formatVersion(item.version.id)),
    element('IsLatest', isLatest),
    element('LastModified', (content?.modifiedAt ?? new Date(0)).toISOString()),
    element('ETag', `"${content ? listedTag(content) : emptyTag}"`),
    element('Size', content?.size ?? 0),
    ...owner,
    element('StorageClass', 'STANDARD'),
  ])
}

/** Returns the header that names the version of a new object, for buckets whose versioning is enabled. */
export function versionHeader({ isVersioned }: { isVersioned: boolean }): Record<string, string> {
  return isVersioned ? { 'x-amz-version-id': nullVersion } : {}
}

/** Returns the id of an earlier version; undefined for the object as it is now. @throws S3Error for a text that is no id */
export function parseVersion(id: string | undefined): string | undefined {
  if (id === undefined || id === nullVersion) return undefined
  const native = id.startsWith(nativeMark) ? Buffer.from(id.slice(nativeMark.length), 'base64url').toString() : ''
  if (native !== '' && formatVersion(formatNativeId(native)) === id) return formatNativeId(native)
  if (!isId(id)) throw new S3Error('InvalidArgument', 'This is not the ID of a version.')
  return id
}

/** The inverse of `parseVersion`. */
function formatVersion(id: string): string {
  const native = nativeIdOf(id)
  return native === null ? id : nativeMark + Buffer.from(native).toString('base64url')
}
