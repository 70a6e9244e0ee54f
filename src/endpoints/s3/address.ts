/** The resource that an S3 request names (nothing, a bucket, or an object in one) and its query. */
import type { FastifyRequest } from 'fastify'
import { SignatureError } from '../../auth/sigv4/failure.ts'
import { parseSignedQuery, type Query } from '../../auth/sigv4/message.ts'
import { findS3Target, type S3Target } from '../../http/s3-target.ts'
import { splitUrl } from '../../http/url.ts'
import { S3Error } from './failure.ts'

export interface S3Address extends Pick<S3Target, 'bucket' | 'key'> {
  /** The parameters, without those that sign the request. */
  query: ReadonlyMap<string, string>
  /** All parameters, in the order of the URL. */
  parameters: Query
}

/** Parameters that say nothing about the operation. */
const ignored = /^(?:x-amz-|x-id$)/i

/** @throws SignatureError for a malformed URL */
export function targetOf(request: Pick<FastifyRequest, 'raw'>): S3Target {
  const target = findS3Target(request)
  if (target) return target
  throw new SignatureError(
    'InvalidURI',
    'The URL is malformed: it has a bucket before the key, both percent-encoded as UTF-8.',
  )
}

/** @throws SignatureError for a malformed URL; S3Error for a repeated parameter */
export function parseAddress(request: Pick<FastifyRequest, 'raw'>): S3Address {
  const { bucket, key } = targetOf(request)
  const parameters = parseSignedQuery(splitUrl(request.raw.url ?? '')[1])
  return { bucket, key, query: relevant(parameters), parameters }
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
