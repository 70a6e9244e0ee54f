/**
 * Parses what a request names: a bucket and a key in its address, the source of a copy in its headers, the parameters of its
 * query, and the owner whose bucket it expects.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import { findS3Target, type S3Target } from '../../http/s3-target.ts'
import { splitUrl } from '../../http/url.ts'
import { S3Error, SignatureError } from './errors.ts'
import { decodeUri, parseSignedQuery, type Query } from './signature.ts'

export interface S3Address extends Pick<S3Target, 'bucket' | 'key'> {
  /** The parameters, without those that sign the request. */
  query: ReadonlyMap<string, string>
  /** All parameters, in the order of the URL. */
  parameters: Query
}

/** Parameters that say nothing about the operation. */
const ignored = /^(?:x-amz-|x-id$)/i

/** @throws SignatureError for a malformed URL; S3Error for a repeated parameter */
export function parseAddress(request: Pick<FastifyRequest, 'raw'>): S3Address {
  const { bucket, key } = targetOf(request)
  const parameters = parseSignedQuery(splitUrl(request.raw.url ?? '')[1])
  return { bucket, key, query: relevant(parameters), parameters }
}

/** @throws SignatureError for a malformed URL */
export function targetOf(request: Pick<FastifyRequest, 'raw'>): S3Target {
  const target = findS3Target(request)
  if (target) return target
  throw new SignatureError(
    'InvalidURI',
    'The URL is malformed: it has a bucket before the key, both percent-encoded as UTF-8.',
  )
}

function relevant(parameters: Query): ReadonlyMap<string, string> {
  const query = new Map<string, string>()
  for (const [name, value] of parameters) {
    if (ignored.test(name)) continue
    if (query.has(name)) throw new S3Error('InvalidArgument', 'A query parameter appears more than once.')
    query.set(name, value)
  }
  return query
}

/** Bytes of UTF-8. */
const maxKeyBytes = 1024

export interface ObjectPath {
  /** Absolute within the provider, not parsed yet. */
  path: string
  isFolder: boolean
}

/** @throws S3Error */
export function parseKey(key: string): ObjectPath {
  requireKeyLength(Buffer.byteLength(key))
  const isFolder = key.endsWith('/')
  return { path: `/${isFolder ? key.slice(0, -1) : key}`, isFolder }
}

/** @throws S3Error if a key of so many bytes is too long */
export function requireKeyLength(bytes: number): void {
  if (bytes > maxKeyBytes) throw new S3Error('KeyTooLongError', `A key can have at most ${maxKeyBytes} bytes.`)
}

export interface ObjectName extends ObjectPath {
  bucket: string
}

/** The source of a copy. */
export interface CopySource extends ObjectName {
  /** As the request names it; undefined for the object as it is now. */
  version: string | undefined
}

/** Parses `x-amz-copy-source`, which is `/bucket/key`, percent-encoded, and perhaps `?versionId=` with a version. @throws S3Error */
export function parseCopySource(headers: IncomingHttpHeaders): CopySource | null {
  const header = headers['x-amz-copy-source']
  if (header === undefined) return null
  const [path = '', query] = String(header).split('?', 2)
  const version = query === undefined ? undefined : (new URLSearchParams(query).get('versionId') ?? undefined)
  const [bucket = '', ...segments] = decodeUri(path.replaceAll('+', ' ')).replace(/^\//, '').split('/')
  const key = segments.join('/')
  if (bucket === '' || key === '') {
    throw new S3Error('InvalidArgument', 'x-amz-copy-source must have the form /bucket/key.')
  }
  return { bucket, version, ...parseKey(key) }
}

const rangePattern = /^bytes=(\d{1,15})-(\d{1,15})$/

/** Parses `x-amz-copy-source-range`; null is the whole object. @throws S3Error */
export function parseCopyRange(headers: IncomingHttpHeaders): { offset: number; length: number } | null {
  const header = headers['x-amz-copy-source-range']
  if (header === undefined) return null
  const [, first = '', last = ''] = rangePattern.exec(String(header)) ?? []
  const [offset, end] = [Number(first), Number(last)]
  if (first !== '' && end >= offset) return { offset, length: end - offset + 1 }
  throw new S3Error('InvalidArgument', 'x-amz-copy-source-range must have the form bytes=<first>-<last>.')
}

/**
 * Parameters that belong to the signature or describe the body. The checksum in a presigned URL is ignored, because the signer
 * does not know the body: some SDKs add the checksum of an empty one.
 */
const ofSignature =
  /^x-amz-(?:algorithm|content-sha256|credential|date|decoded-content-length|expires|security-token|signature|signedheaders|trailer|user-agent|checksum-.*|sdk-.*)$/

/**
 * Adds the `x-amz-*` headers that the signer of a URL moved to its query, as the SDKs of AWS do. A header in the request takes
 * precedence.
 */
export function addHoistedHeaders(headers: IncomingHttpHeaders, parameters: Query): void {
  for (const [parameter, value] of parameters) {
    const name = parameter.toLowerCase()
    if (name.startsWith('x-amz-') && !ofSignature.test(name)) headers[name] ??= value
  }
}

const expectations = ['x-amz-expected-bucket-owner', 'x-amz-source-expected-bucket-owner']

/** @throws PROVIDER_NOT_ALLOWED if the request expects another owner of its buckets */
export function requireOwner(headers: IncomingHttpHeaders, { member }: Viewer): void {
  for (const name of expectations) {
    const expected = headers[name]
    if (expected !== undefined && expected !== member.userId) {
      throw new AppError('PROVIDER_NOT_ALLOWED', `The owner of the bucket is not the one in ${name}.`)
    }
  }
}
